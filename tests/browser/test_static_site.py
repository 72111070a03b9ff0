"""The page whose model runs in the browser, as `make demo` writes it: what it shows is what Python computes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient
from support import exported
from support.multi30k import lines_of
from support.page import EXAMPLE, LOOKS, Keeper, Opener, assert_in_nobodys_way, labels, said
from support.static_server import serving
from support.tiny_models import Variant, tiny_codecs, tiny_model

from nmt.checkpoint.contents import Loaded
from nmt.cli import main
from nmt.config.search import SearchConfig
from nmt.export.static_site import write_page
from nmt.page import serializers
from nmt.page.app import make_app
from nmt.page.explanation import explain, read
from nmt.system import bundled
from nmt.translator import Translator

BUILD = Path(__file__).parents[2] / "build"
DEMO, PACKAGE = BUILD / "demo", BUILD / "npm" / "node_modules" / "onnxruntime-web"  # of `make demo`
VIEWS = ["attention", "steps", "beam"]
LARGEST = 25e6  # bytes
VARIANTS = [
    Variant("luong", "general", "local_p", input_feeding=True, extra="heads"),
    Variant("bahdanau", scope="hierarchical"),
    Variant("bahdanau", extra="coverage"),
    Variant("none", other="lstm"),
]
ASK = """async ([path, question]) => {
    const { ask } = await import(new URL("static/api.js", location.href).href);
    return ask(path, question).catch((error) => ({ error: error.message }));
}"""


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with serving(DEMO) as address:
        yield address


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same page in 32 bits."""
    folder = tmp_path_factory.mktemp("local") / "page"
    assert main(["export", str(bundled.MODEL), "--page", str(PACKAGE), "--output", str(folder)]) == 0
    with serving(folder) as address:
        yield address


def asked(page: Page, path: str, **question: Any) -> Any:
    return page.evaluate(ASK, [f"/api/{path}", question])


def agree(one: Any, other: Any, place: str = "answer") -> None:
    """The same JSON, but for the last digits of numbers."""
    if isinstance(other, dict):
        assert one.keys() == other.keys(), place
        for name, value in other.items():
            agree(one[name], value, f"{place}.{name}")
    elif isinstance(other, list | tuple):
        assert len(one) == len(other), place
        for number, pair in enumerate(zip(one, other, strict=True)):
            agree(*pair, f"{place}[{number}]")
    else:
        assert one == (pytest.approx(other, abs=1e-3) if isinstance(other, float) else other), place


def test_the_answers_are_those_of_the_api(open_page: Opener, exact: str, translator: Translator) -> None:
    page = open_page(at=exact)
    text = "Zwei Männer mit Schutzhelmen bedienen ein Antriebsradsystem, ☃ und Xylophon."
    for question in (
        {"text": EXAMPLE},
        {"text": text},
        {"text": EXAMPLE, "beam_size": 3, "prefix": ["▁a", "▁man", "▁no-such-piece"]},
        {"text": text, "beam_size": 1, "prefix": ["▁two"], "forced": [[1, 5], [4, 0]]},
        {"text": EXAMPLE, "beam_size": 8, "forced": [[2, 7]]},
        {"text": "  "},
    ):
        options = {name: question[name] for name in question.keys() & {"beam_size", "prefix"}}
        explanation = explain(translator, question["text"], forced=dict(question.get("forced", ())), **options)
        agree(asked(page, "explain", **question), serializers.of_explanation(translator, explanation))
    target = "A dog is running over the ☃ meadow."
    agree(
        asked(page, "read", text=text, target=target),
        serializers.of_reading(translator, text, *read(translator, text, target)),
    )
    [listed] = asked(page, "models")
    agree(listed, serializers.of_model("1", bundled.MODEL.parent.name, translator))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_answers_of_other_mechanisms(open_page: Opener, tmp_path: Path, variant: Variant) -> None:
    source, target = tiny_codecs()
    search = SearchConfig(beam_size=2, max_length=6)
    own = Translator(tiny_model(variant).float(), source, target, search)
    side = SimpleNamespace(language="a", tokenizer="whitespace", lowercase=False)
    config = SimpleNamespace(data=SimpleNamespace(source=side, target=side), search=search)
    loaded = Loaded(config, source, target, own.model, None)  # type: ignore[arg-type]  # what the page reads of a config
    write_page("tiny/best.safetensors", loaded, tmp_path / "page", "float32", PACKAGE)
    text, forced = "a b c d b a e f h g", [[1, 2]] if own.has_attention else []
    with serving(tmp_path / "page") as address:
        answer = asked(open_page(f"#text={text}", at=address), "explain", text=text, forced=forced)
    agree(answer, serializers.of_explanation(own, explain(own, text, forced=dict(forced))))


def test_what_the_api_refuses(open_page: Opener, demo: str, translator: Translator) -> None:
    page = open_page(at=demo)
    with TestClient(make_app({"1": ("bundled", translator)}), base_url="http://127.0.0.1:8000") as client:
        for path, question in (
            ("explain", {"text": "Hund " * 600}),
            ("explain", {"text": "x" * 10_001}),
            ("explain", {"text": EXAMPLE, "prefix": ["▁a"] * 100}),
            ("explain", {"text": EXAMPLE, "forced": [[0, 50]]}),
            ("explain", {"text": EXAMPLE, "forced": [[100, 0]]}),
            ("read", {"text": EXAMPLE, "target": "dog " * 100}),
        ):
            refusal = client.post(f"/api/{path}", json=question)
            assert refusal.status_code == 422
            assert asked(page, path, **question) == refusal.json()


class _Step:
    """The page's step with nothing forced."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self.session = session
        self.get_outputs = session.get_outputs

    def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
        return self.session.run(names, inputs | {"forced": np.array([-1])})


def test_captions_are_translated_as_in_python(
    open_page: Opener, demo: str, tmp_path: Path, translator: Translator
) -> None:
    """As by the search of exported folders over the page's graphs; and nearly all as by nmt."""
    captions = lines_of("de", "test_2016_flickr")[:40]
    assert main(["export", str(bundled.MODEL), "--output", str(tmp_path / "folder")]) == 0
    python = exported.script().Translator(tmp_path / "folder", threads=1)
    graphs = (onnxruntime.InferenceSession(DEMO / "model" / f"{name}.onnx") for name in ("encoder", "step"))
    python.encoder, python.step = next(graphs), _Step(next(graphs))
    expected = [one.text for [one] in python.translate(captions, batch_size=1)]
    page = open_page(at=demo)
    texts = [asked(page, "explain", text=caption)["text"] for caption in captions]
    assert texts == expected
    # The page searches all words, with weights in 8 bits and products in 32.
    ours = translator.translate(captions, attention=False, vocabulary_selection=False)
    assert sum(one == other.text for one, other in zip(texts, ours, strict=True)) >= 38


def test_it_loads_once_and_then_works_without_a_network(browser: Browser) -> None:
    context = browser.new_context()
    with serving(DEMO) as address:
        page = context.new_page()
        page.goto(address)
        bar = page.get_by_label("Loading the model")
        expect(bar).to_be_visible()
        page.locator("#said button").first.wait_for()
        expect(bar).to_have_count(0)
        files = [*json.loads((DEMO / "model" / "model.json").read_text(encoding="utf-8"))["files"], "model/model.json"]
        kept = "Promise.all(files.map(async (file) => (await caches.match(file)) !== undefined))"
        page.wait_for_function(f"async (files) => (await {kept}).every(Boolean)", arg=files)
        page.close()
    page = context.new_page()
    page.goto(f"{address}index.html#view=beam&text=Zwei Hunde.")
    expect(page.locator("#said")).to_contain_text("dogs")
    expect(page.locator("svg.tree")).to_be_visible()
    context.close()


def test_what_cannot_be_loaded_is_said(browser: Browser, demo: str) -> None:
    for file in ("model/step.onnx", "model/model.json", "engine/worker.js"):
        context = browser.new_context(service_workers="block")
        context.route(f"**/{file}", lambda route: route.abort())
        page = context.new_page()
        page.goto(demo)
        expect(page.get_by_role("status")).to_contain_text("The model cannot be")
        expect(page.get_by_label("Loading the model")).to_have_count(0)
        context.close()


def test_only_the_last_of_what_is_typed_is_shown(open_page: Opener, demo: str) -> None:
    page = open_page(at=demo)
    page.get_by_label("Sentence", exact=True).fill("")
    page.get_by_label("Sentence", exact=True).press_sequentially("Zwei Männer spielen Fußball.", delay=40)
    expect(page).to_have_url(re.compile(r"text=Zwei\+.*Fu%C3%9Fball\.$"))  # asked for when typing has paused
    expect(page.locator("body")).not_to_have_class("busy")
    expected = asked(page, "explain", text="Zwei Männer spielen Fußball.")["tokens"]
    assert said(page) == labels(expected)


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_stands_in_anyones_way(open_page: Opener, demo: str, look: str, keep: Keeper) -> None:
    page = open_page(at=demo, **LOOKS[look])
    assert page.locator("[role=tab]").all_text_contents() == ["Attention", "Step by step", "Beam"]
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        page.wait_for_timeout(500)
        assert_in_nobodys_way(page)
    if look == "phone":
        page.locator("#tab-attention").click()
        keep(page, "local")


def test_it_is_small_and_says_what_to_do_if_opened_as_a_file(browser: Browser) -> None:
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < LARGEST
    page = browser.new_page()
    page.goto((DEMO / "index.html").as_uri())
    expect(page.get_by_role("status")).to_contain_text("python3 -m http.server")
    page.close()
