"""The OpenAPI document: it describes every address, what may be asked there, and what is answered."""

import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from nmt.config.run import Config
from nmt.page.app import make_app
from nmt.page.neighbours import index
from nmt.page.test_sets import load_set
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
SENTENCE = "Ba de Fi Go Hu ja"
PATHS = ["/api/translate", "/api/explain", "/api/read", "/api/neighbours"]
LOOKS = ["models", "runs", "runs/{id}", "sets", "sets/{id}", "sets/{id}/sentences", "sets/{id}/sentences/{line}"]
KINDS = {
    "1": ("attention.wiring=bahdanau", "attention.coverage=true"),
    "2": ("attention.wiring=luong", "attention.scope=local_p", "attention.heads=2", "decoder.hidden_size=8"),
    "3": ("attention.wiring=none",),
}


@pytest.fixture
def client(make_translator: Maker, tmp_path: Path) -> Iterator[TestClient]:
    """A server of models of several kinds, with a run, a test set and an index."""
    settings = {number: [f"model.{one}" for one in kind] for number, kind in KINDS.items()}
    translators = {number: make_translator(*own)[1] for number, own in settings.items()}
    models = {number: (f"model {number}", translator) for number, translator in translators.items()}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("{}\n", encoding="utf-8")
    (tmp_path / "run" / "config.yaml").write_text("a: {b: 1, c: null, d: true}\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("set.src", "set.ref", "set.links")]
    for file, text in zip(files, (f"{SENTENCE}\nBa\n", "kip lom\nkip\n", "0-0 1?1\n0-0\n"), strict=True):
        Path(file).write_text(text, encoding="utf-8")
    own_set = load_set(files[0], files[1], files[2], ("de", "en"), "whitespace")
    own_index = index.build(translators["1"], [(SENTENCE, "kip lom"), ("Ba", "kip")])
    app = make_app(models, runs=tmp_path, sets={"1": own_set}, indexes={"1": own_index})
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


def test_the_document_describes_every_address_and_its_body(client: TestClient) -> None:
    described = client.get("/api").json()
    assert set(described["paths"]) == {*PATHS, "/api/runs/events", *(f"/api/{path}" for path in LOOKS)}
    for path in PATHS:
        content = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        assert content["schema"]
        schema = content["schema"] | {"components": described["components"]}
        needed: dict[str, Any] = {"/api/read": {"target": "kip"}, "/api/neighbours": {"place": 0}}.get(path, {})
        jsonschema.validate({"text": SENTENCE, **needed}, schema)
        beyond: dict[str, Any] = {
            "translate": {"beam_size": 51},
            "explain": {"forced": [[0, -1]]},
            "read": {"target": 1},
        }
        wrong = ({"text": 1}, {"more": 1}, beyond.get(path.removeprefix("/api/"), {"count": 51}))
        for question in ({}, *({"text": SENTENCE, **needed, **fields} for fields in wrong)):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(question, schema)


def test_answers_look_as_it_says(client: TestClient) -> None:
    more: dict[str, Any] = {"/api/read": {"target": "kip lom"}, "/api/neighbours": {"target": ["kip"], "place": 0}}
    for path, number, sentence in product(PATHS, KINDS, (SENTENCE, "")):
        answer = client.post(path, json={"model": number, "text": sentence} | more.get(path, {}))
        if path == "/api/neighbours" and (number != "1" or not sentence):  # without an index, or a word
            assert answer.status_code == 422
        else:
            assert answer.status_code == 200
        assert_described(client, path, "post", answer)


def test_so_do_answers_about_runs_and_test_sets(client: TestClient) -> None:
    seen = []

    def look(path: str, **ids: Any) -> Any:
        answer = client.get(path.format(**ids))
        assert_described(client, path, "get", answer)
        seen.append(path)
        return answer.json()

    assert len(look("/api/models")) == len(KINDS)
    [run] = look("/api/runs")
    assert look("/api/runs/{id}", id=run["id"])["config"] == {"a.b": "1", "a.c": None, "a.d": True}
    [own] = look("/api/sets")
    begun = look("/api/sets/{id}", id=own["id"])
    while not all(one["summary"] for one in begun["models"]):
        time.sleep(0.05)
        begun = look("/api/sets/{id}", id=own["id"])
    assert len(look("/api/sets/{id}/sentences", id=own["id"])["models"]) == len(KINDS)
    assert len(look("/api/sets/{id}/sentences/{line}", id=own["id"], line=0)["models"]) == 2  # that have attention
    assert "error" in look("/api/runs/{id}", id="nothing")
    assert set(seen) == {f"/api/{path}" for path in LOOKS}


def assert_described(client: TestClient, path: str, method: str, answer: Any) -> None:
    document = client.get("/api").json()
    response = document["paths"][path][method]["responses"][str(answer.status_code)]
    schema = response["content"]["application/json"]["schema"]
    assert schema
    jsonschema.validate(answer.json(), schema | {"components": document["components"]})
