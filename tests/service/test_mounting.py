"""Keys, limits, request ids, logs and metrics around all addresses."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient
from support.cli import error_of

from nmt.cli import main
from nmt.service.keys import Keys

KEYS = "# programs\na-key-of-a-program 600\n\nanother-key-for-three\t3\n"


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_key_opens_every_address_up_to_its_limit(guarded: Callable[..., TestClient]) -> None:
    with guarded(KEYS) as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/health", headers={"host": "elsewhere.example"}).status_code == 421
        for path in ("/", "/api/models", "/metrics"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers=bearer("the-token-of-the-page")).status_code == 200
            assert client.get(path, headers=bearer("a-key-of-a-program")).status_code == 200
        assert client.get("/languages").status_code == 400
        assert client.get("/languages", params={"api_key": "no-key-of-a-program"}).status_code == 403
        statuses = [client.get("/languages", params={"api_key": "another-key-for-three"}) for _ in range(5)]
        assert [answer.status_code for answer in statuses] == [200] * 3 + [429] * 2
        assert 1 <= int(statuses[-1].headers["retry-after"]) <= 20
        assert client.get("/api/models", headers=bearer("another-key-for-three")).status_code == 429


def test_a_limit_is_so_many_requests_in_any_minute_after_the_first() -> None:
    now = 0.0
    keys = Keys({"key": 60}, clock=lambda: now)
    admitted = []
    for tenth in range(3000):  # ten requests a second, for five minutes
        now = tenth / 10
        admitted.append(keys.seconds_to_wait("key") == 0)
    assert sum(admitted) == pytest.approx(60 + 5 * 60, abs=1)
    assert keys.seconds_to_wait("key") == 1
    assert keys.seconds_to_wait("another") is None
    keys.replace({"another": 1})
    assert (keys.seconds_to_wait("another"), keys.seconds_to_wait("another")) == (0, 60)
    assert keys.seconds_to_wait("key") is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "has no key"),
        ("short 10", "line 1: write a key"),
        ("\na-key-of-a-program", "line 2: write a key"),
        ("a-key-of-a-program 0", "line 1: write a key"),
        ("a-key-of-a-program 5\na-key-of-a-program 6", "line 2: the key is in the file twice"),
    ],
)
def test_wrong_keys_are_one_line(text: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys.txt"
    path.write_text(text, encoding="utf-8")
    assert main(["serve", "--keys", str(path)]) == 2
    message = error_of(capsys)
    assert error in message
    assert "program" not in message.replace("a-key-of", "")  # no key is repeated
    assert main(["serve", "--keys", str(tmp_path / "none")]) == 2
    assert "cannot be read" in error_of(capsys)
    assert main(["serve", "--lazy", "--test-set", "a", "b"]) == 2
    assert "--lazy and --test-set" in error_of(capsys)


def test_requests_have_ids_which_the_log_has(
    guarded: Callable[..., TestClient], capsys: pytest.CaptureFixture[str]
) -> None:
    with guarded(KEYS, log_format="json") as client:
        headers = bearer("a-key-of-a-program") | {"x-request-id": "order-17"}
        assert client.get("/api/models", headers=headers).headers["x-request-id"] == "order-17"
        generated = client.get("/x\u202ey?token=secret", headers={"x-request-id": "two words"}).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{32}", generated)
    lines = capsys.readouterr().err.splitlines()
    one, two = (json.loads(line) for line in lines)
    assert (one["request_id"], one["method"], one["path"], one["status"]) == ("order-17", "GET", "/api/models", 200)
    assert (two["request_id"], two["status"]) == (generated, 401)
    assert "\u202e" not in "".join(lines)
    assert "secret" not in "".join(lines)
    assert one["ms"] >= 0


def samples(client: TestClient) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def test_metrics_count_what_was_answered(client: TestClient) -> None:
    before = samples(client)
    answer = client.post("/api/translate", json={"text": "Ein Hund läuft."}).json()
    client.post("/translate", json={"q": "Ein Hund läuft.", "source": "de", "target": "en"})
    client.post("/translate", json={})
    for path in ("/no/such/address", "/api/runs/abc"):
        client.get(path)
    after = samples(client)

    def counted(*key: str) -> float:
        return after[key] - before.get(key, 0)

    assert counted("nmt_tokens_total", "source") == 2 * len(answer["source_tokens"])
    assert counted("nmt_tokens_total", "target") == 2 * len(answer["tokens"])
    assert counted("nmt_requests_total", "/translate", "200") == 1
    assert counted("nmt_requests_total", "/translate", "400") == 1
    assert counted("nmt_requests_total", "other", "404") == 1
    assert counted("nmt_requests_total", "/api/runs/{id}", "404") == 1
    assert counted("nmt_request_seconds_count", "/translate") == 2
    assert after["nmt_queue_length",] == 0
    assert after["nmt_memory_bytes",] > 1e7
