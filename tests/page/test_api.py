"""The server's answers, against the translator's own values; and what it refuses."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from support.checkpoints import PLANTED, Saver, altered, plant
from support.checkpoints import save as save

from nmt import addons
from nmt.cli import main
from nmt.config.run import Config
from nmt.page import batch_queue, schemas
from nmt.page.app import make_app
from nmt.page.explanation import explain, read
from nmt.page.security import LARGEST_BODY
from nmt.system.errors import CONTROLS
from nmt.translator import Translator, translator_type

Maker = Callable[..., tuple[Config, Translator]]
BASE = "http://127.0.0.1:8000"
SENTENCE = "Ba de Fi Go Hu ja"


@pytest.fixture
def translator(make_translator: Maker) -> Translator:
    return make_translator("model.attention.wiring=bahdanau", "model.attention.coverage=true")[1]


@pytest.fixture
def client(translator: Translator, make_translator: Maker) -> Iterator[TestClient]:
    other = make_translator("model.attention.wiring=none")[1]
    with TestClient(make_app({"1": ("one", translator), "2": ("two", other)}), base_url=BASE) as client:
        yield client


def test_the_models_are_listed_without_their_files(client: TestClient, translator: Translator) -> None:
    one, two = client.get("/api/models").json()
    assert (one["id"], one["name"], one["attention"]) == ("1", "one", True)
    assert (two["id"], two["name"], two["attention"]) == ("2", "two", False)
    assert (one["source_language"], one["target_language"]) == ("de", "en")
    assert one["beam_size"] == translator.search.beam_size
    assert one["target_words"] == len(translator.target.vocabulary)


@pytest.mark.parametrize("options", [{}, {"beam_size": 2.0, "length_penalty": 0.5}, {"prefix": "kip"}])
def test_a_translation_is_the_translators(client: TestClient, translator: Translator, options: dict[str, Any]) -> None:
    answer = client.post("/api/translate", json={"text": SENTENCE, **options}).json()
    [expected] = translator.translate([SENTENCE], **{k: int(v) if k == "beam_size" else v for k, v in options.items()})
    schemas.Translated.model_validate(answer)  # as the document says
    for name in ("text", "tokens", "source_tokens"):
        assert answer[name] == getattr(expected, name)
    assert answer["score"] == pytest.approx(expected.score, abs=1e-5)
    np.testing.assert_allclose(answer["attention"], expected.attention, atol=1e-5)
    without = client.post("/api/translate", json={"text": SENTENCE, "attention": False, **options}).json()
    assert without == answer | {"attention": None}


def test_each_sentence_of_a_text_is_translated_by_itself(client: TestClient, translator: Translator) -> None:
    sentences = ["Ba de Fi Go.", "Hu ja."]
    [expected] = translator.translate([" ".join(sentences)])
    assert expected.text == " ".join(one.text for one in translator.translate(sentences))
    answer = client.post("/api/translate", json={"text": " ".join(sentences)}).json()
    assert (answer["text"], answer["attention"]) == (expected.text, None)
    assert [part["source"] for part in answer["sentences"]] == sentences


def test_terms_have_their_translations(client: TestClient, translator: Translator, make_translator: Maker) -> None:
    [plain] = translator.translate([SENTENCE])
    word = next(w for w in translator.target.vocabulary.tokens if w.isalpha() and w not in plain.text)
    question = {"text": SENTENCE, "glossary": [["Ba", word]]}
    assert "nmt.constraints" in client.post("/api/explain", json=question).json()["error"]
    config = make_translator()[0]
    able = translator_type(config)(translator.model, translator.source, translator.target, translator.search)
    with TestClient(make_app({"1": ("one", able)}), base_url=BASE) as other:
        for address in ("translate", "explain") if hasattr(able, "protect") else ():  # without that add-on, none
            assert word in other.post(f"/api/{address}", json=question).json()["tokens"]


def test_html_is_translated_with_markup(
    client: TestClient, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[bool] = []

    def recorded(*arguments: Any, markup: bool = False, **options: Any) -> list[Any]:
        calls.append(markup)
        return translate(*arguments, **options)

    translate = type(translator).translate
    monkeypatch.setattr(type(translator), "translate", recorded)
    for format in ("html", "text"):
        assert client.post("/api/translate", json={"text": SENTENCE, "format": format}).status_code == 200
    assert calls == [True, False]


def test_a_model_searches_in_its_own_precision(make_translator: Maker) -> None:
    translators = {precision: make_translator(f"search.precision={precision}")[1] for precision in ("float32", "bf16")}
    models = {precision: (precision, translator) for precision, translator in translators.items()}
    question = {"text": SENTENCE, "attention": False}
    with TestClient(make_app(models), base_url=BASE) as client:
        scores = [client.post("/api/translate", json=question | {"model": model}).json()["score"] for model in models]
    assert scores == [translator.translate([SENTENCE])[0].score for translator in translators.values()]
    assert scores[0] != scores[1]


@pytest.mark.parametrize("options", [{"beam_size": 4, "prefix": ["kip", "lom"]}, {"forced": [[1, 3], [0, 0]]}])
def test_an_explanation_is_that_of_nmt(client: TestClient, translator: Translator, options: dict[str, Any]) -> None:
    answer = client.post("/api/explain", json={"text": SENTENCE, **options}).json()
    schemas.Explained.model_validate(answer)
    expected = explain(translator, SENTENCE, **options | {"forced": dict(options.get("forced", []))})
    types = translator.target.vocabulary.tokens
    assert [token["token"] for token in answer["source"]] == expected.translation.source_tokens
    assert [token["token"] for token in answer["target"]] == answer["tokens"] == expected.translation.tokens
    assert [one["tokens"] for one in answer["n_best"]] == [one.tokens for one in expected.translation.n_best]
    assert answer["greedy"]["tokens"] == expected.greedy.tokens
    assert (answer["missing"], answer["added"]) == addons.offered("missing_words").flagged_tokens(
        translator, expected.translation
    )
    for values, step in zip(answer["steps"], expected.steps, strict=True):
        assert values["probability"] == pytest.approx(step.probability, abs=1e-6)
        assert [one["token"] for one in values["likeliest"]] == [types[token] for token, _ in step.likeliest]
        assert step.attention is not None
        np.testing.assert_allclose(values["weights"], step.attention.weights.mean(dim=0), atol=1e-6)
        np.testing.assert_allclose(values["query"], step.query, atol=1e-3)
        assert sum(values["parts"]) == pytest.approx(1, abs=1e-2)  # shares of the context
    for values, node in zip(answer["tree"], expected.tree, strict=True):
        assert [values[name] for name in ("parent", "fate", "rank")] == [node.parent, node.fate, node.rank]
        assert values["token"] == types[node.token]
        assert values["score"] == pytest.approx(node.score, abs=1e-4)


def test_nothing_planted_in_a_vocabulary_gets_out(save: Saver, tmp_path: Path) -> None:
    """Control characters and markup are escaped in all answers, and in the page of a sentence."""
    path, file = altered(save("planted"), plant), tmp_path / "page.html"
    with TestClient(make_app({"1": ("one", Translator.load(path))}), base_url=BASE) as client:
        for address, more in (("translate", {}), ("explain", {}), ("read", {"target": f"ka {PLANTED}"})):
            answer = client.post(f"/api/{address}", json={"text": f"ka {PLANTED}", **more})
            assert answer.status_code == 200
            assert not CONTROLS.search(answer.text)
            assert not CONTROLS.search(answer.json().get("text", ""))
            assert not CONTROLS.search("".join(one["label"] for one in answer.json().get("target", [])))
    assert main(["explain", str(path), "ka", "--html", str(file), "--alternatives", "1"]) == 0
    page = file.read_text(encoding="utf-8")
    assert not CONTROLS.search(page.replace("\n", ""))
    assert "2J<script>" not in page


def test_a_reading_is_that_of_nmt(client: TestClient, translator: Translator) -> None:
    answer = client.post("/api/read", json={"text": SENTENCE, "target": "tuk never kip"}).json()
    tokens, steps = read(translator, SENTENCE, "tuk never kip")
    assert answer["tokens"] == tokens
    assert [step["probability"] for step in answer["steps"]] == pytest.approx([s.probability for s in steps], abs=1e-6)
    none = client.post("/api/read", json={"model": "2", "text": "Ba", "target": "kip"}).json()
    for reading in (answer, none):
        schemas.Reading.model_validate(reading)
    assert none["steps"][0]["weights"] is None


def test_a_question_without_an_answer_is_refused(client: TestClient) -> None:
    refusals: list[tuple[str, dict[str, Any], int, str]] = [
        *(("/api/translate", {"text": "Ba", "beam_size": no}, 422, "beam_size") for no in (51, 0, True)),
        ("/api/translate", {"text": "Ba", "beamsize": 5}, 422, "beamsize: there is no such field"),
        *(("/api/translate", {"text": "Ba", "length_penalty": no}, 422, "length_penalty") for no in ("1", True, 11)),
        ("/api/translate", {}, 422, "text"),
        ("/api/translate", {"text": "Ba " * 600}, 422, "600 tokens"),
        ("/api/translate", {"text": "x" * 20_001}, 422, "text"),
        ("/api/translate", {"text": "Ba " * 85, "beam_size": 50}, 422, "a beam of 50 at most 50"),
        ("/api/explain", {"text": "Ba " * 85, "beam_size": 50}, 422, "shorten the sentence, or lower beam_size"),
        ("/api/translate", {"text": "Ba", "model": "3"}, 404, "'3'"),
        ("/api/translate", {"text": "Ba", "prefix": "kip " * 200}, 422, "prefix"),
        ("/api/explain", {"text": "Ba", "forced": [[0, 2]]}, 422, "positions 0 to 1"),
        ("/api/explain", {"text": "Ba", "forced": [[0]]}, 422, "forced"),
        ("/api/explain", {"model": "2", "text": "Ba", "forced": [[0, 0]]}, 422, "no attention"),
        ("/api/read", {"text": "Ba", "target": "kip " * 200}, 422, "shorten"),
    ]
    for path, question, status, words in refusals:
        answer = client.post(path, json=question)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])
        assert words in answer.json()["error"]


def test_who_may_ask(client: TestClient) -> None:
    address = {"host": "10.1.2.3"}  # whoever uses one has no name that could be rebound
    senders: dict[int, list[dict[str, str]]] = {
        200: [{"host": "localhost:8000"}, {"host": "[::1]:8000"}, address, {"origin": BASE}],
        421: [{"host": "evil.example"}, {"host": "127.0.0.1.evil.example:8000"}, {"host": ""}],
        403: [{"origin": origin} for origin in ("http://evil.example", "http://127.0.0.1:9000", "null", "http://[::")],
        415: [{"content-type": "text/plain"}],
        400: [{"content-length": "-1"}],
        413: [{"content-length": str(LARGEST_BODY + 1)}],
    }
    senders[200].append({"sec-fetch-site": "same-origin"})
    senders[403].append({"sec-fetch-site": "cross-site"})
    body = json.dumps({"text": "Ba"}).encode()
    for status, headers in ((status, headers) for status, several in senders.items() for headers in several):
        answer = client.post("/api/translate", content=body, headers={"content-type": "application/json"} | headers)
        assert answer.status_code == status
        assert "script-src 'self';" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert (status == 200) == ("error" not in answer.json())


def test_a_body_that_grows_too_large_or_is_no_json_is_refused(client: TestClient) -> None:
    for body, status in (((b" " * 1000 for _ in range(66)), 413), (b"[" * 60_000, 422), (b"\xff", 422), (b"{", 422)):
        answer = client.post("/api/translate", content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert answer.json() == {"error": "the body is not JSON"}


def test_a_token_is_asked_for_and_remembered(translator: Translator) -> None:
    token = "abcdefgh-ABCDEFGH_0123"
    with TestClient(make_app({"1": ("one", translator)}, token=token), base_url=BASE) as client:
        for wrong in ("", "x", token[:-1], token + "x", "ä"):
            assert client.get("/", params={"token": wrong}).status_code == client.get("/api/models").status_code == 401
        for scheme, status in (("Bearer", 200), ("bearer", 200), ("Basic", 401)):
            assert client.get("/api/models", headers={"authorization": f"{scheme} {token}"}).status_code == status
        for path, location in (("//evil.example/?a=1&", "/evil.example/?a=1"), ("/ü€?", "/%C3%BC%E2%82%AC")):
            answer = client.get(f"{BASE}{path}token={token}", follow_redirects=False)
            assert (answer.status_code, answer.headers["location"]) == (303, location)
        assert "; HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
        assert client.get("/api/models").status_code == 200  # by the cookie
        client.cookies.clear()
        cookie = answer.headers["set-cookie"].partition(";")[0]
        for others in ('x={"a":1}', "foo", "a@b=1", "nmt-token-12345678=another-servers-token"):
            assert client.get("/api/models", headers={"cookie": f"{others}; {cookie}"}).status_code == 200


def test_only_what_the_page_is_made_of_is_served(client: TestClient) -> None:
    for path in ("/", "/static/main.js", "/static/vendor/d3-7.9.2.min.js"):
        assert client.get(path).status_code == 200
    for path in ("/nothing", "/api/other", "/static/other.js", "/static/../app.py", "/static/%2e%2e/app.py"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()) == (404, {"error": "there is no such address: /api lists them"})
    for path in ("/static/..%2f..%2ftranslator.py", "/static//etc/passwd"):
        assert client.get(path).status_code == 404
    for method in ("GET", "PUT"):
        answer = client.request(method, "/api/translate")
        assert (answer.status_code, answer.json()) == (405, {"error": f"this address does not accept {method}"})


def test_a_full_queue_says_when_to_come_back(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any) -> None:
        raise batch_queue.FullQueue

    monkeypatch.setattr(batch_queue.BatchQueue, "answer", full)
    answer = client.post("/api/translate", json={"text": "Ba"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
