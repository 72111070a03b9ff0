"""OpenAI's addresses."""

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from nmt.translator import Translator

TEXT = "Ein Hund läuft über die Wiese."
MESSAGES = [
    {"role": "system", "content": "Translate."},
    {"role": "user", "content": "Nein."},
    {"role": "assistant", "content": "No."},
    {"role": "user", "content": [{"type": "text", "text": TEXT}]},
]


def test_the_last_message_is_translated(client: TestClient, translator: Translator) -> None:
    [expected] = translator.translate([TEXT], n_best=3)
    names = ("de-en", "1", "multi30k-de-en")
    for name in names:
        answer = client.post("/v1/chat/completions", json={"model": name, "messages": MESSAGES, "n": 3}).json()
        assert answer["object"] == "chat.completion"
        assert [one["message"]["content"] for one in answer["choices"]] == [one.text for one in expected.n_best]
        assert {one["finish_reason"] for one in answer["choices"]} == {"stop"}
        assert answer["usage"]["prompt_tokens"] == len(expected.source_tokens)
        assert answer["usage"]["completion_tokens"] == len(expected.tokens)
    listed = client.get("/v1/models").json()["data"]
    assert [one["id"] for one in listed] == ["de-en", "en-de", "3"]  # the third is one of de-en, too
    assert client.get("/v1/models/en-de").json() == listed[1]


def test_a_stream_has_the_same_text(client: TestClient, translator: Translator) -> None:
    question = {"model": "de-en", "messages": MESSAGES, "stream": True}
    with client.stream("POST", "/v1/chat/completions", json=question) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        *chunks, end = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert end == "[DONE]"
    deltas = [json.loads(chunk)["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content", "") for delta in deltas) == translator.translate([TEXT])[0].text


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"model": "de-fr", "messages": MESSAGES}, 404, "'de-fr' does not exist"),
        ({"model": "de-en"}, 400, "messages"),
        ({"model": "de-en", "messages": MESSAGES[:1]}, 400, "no message of the user"),
        ({"model": "de-en", "messages": MESSAGES, "n": 0.5}, 400, "n is not"),
        ({"model": "de-en", "messages": [{"role": "user", "content": "Hund " * 900}]}, 400, "at most 500 tokens"),
    ],
)
def test_errors_are_its_own(client: TestClient, fields: dict[str, object], status: int, error: str) -> None:
    answer = client.post("/v1/chat/completions", json=fields)
    assert answer.status_code == status
    assert error in answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_a_key_is_a_bearer(guarded: Callable[..., TestClient]) -> None:
    with guarded("a-key-of-a-program 100") as client:
        answer = client.get("/v1/models", headers={"authorization": "Bearer wrong"})
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "invalid_api_key"
        assert client.get("/v1/models", headers={"authorization": "Bearer a-key-of-a-program"}).status_code == 200
