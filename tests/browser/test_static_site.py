"""The page whose model runs in the browser, as `make demo` writes it: what it shows is what Python computes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.staticfiles import StaticFiles
from support.multi30k import lines_of
from support.page import EXAMPLE, LOOKS, Keeper, Opener, assert_in_nobodys_way
from support.serving import running
from support.tiny_models import Variant, tiny_codecs, tiny_model

from nmt.checkpoint.contents import Loaded
from nmt.cli import main
from nmt.config.search import SearchConfig
from nmt.export.static_site import write_page
from nmt.page import serializers
from nmt.page.explanation import explain, read
from nmt.system import bundled
from nmt.translator import Translator

BUILD = Path(__file__).parents[2] / "build"
DEMO, PACKAGE = BUILD / "demo", BUILD / "npm" / "node_modules" / "onnxruntime-web"  # of `make demo`
LARGEST = 25e6  # bytes
VARIANTS = [  # each score, scope and wiring, and what else the graphs tell
    Variant("luong", "general", "local_p", input_feeding=True, extra="heads"),
    Variant("bahdanau", scope="hierarchical"),
    Variant("bahdanau", extra="coverage"),
    Variant("luong", "location", "local_m"),
    Variant("bahdanau", "dot", extra="projected"),
    Variant("luong", "scaled_general", extra="key_value", other="lstm"),
    Variant("bahdanau", "linear", extra="hard"),
    Variant("none", other="lstm"),
]
ASK = """async ([path, question]) => {
    const { ask } = await import(new URL("static/api.js", location.href).href);
    return ask(path, question).catch((error) => ({ error: error.message }));
}"""


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with running(StaticFiles(directory=DEMO, html=True)) as address:
        yield address


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same page in 32 bits."""
    folder = tmp_path_factory.mktemp("local") / "page"
    assert main(["export", os.path.relpath(bundled.MODEL), "--page", str(PACKAGE), "--output", str(folder)]) == 0
    with running(StaticFiles(directory=folder, html=True)) as address:
        yield address


def asked(page: Page, path: str, **question: Any) -> Any:
    return page.evaluate(ASK, [f"/api/{path}", question])


def agree(one: Any, other: Any) -> None:
    """The same JSON, but for the last digits of numbers."""
    if isinstance(other, dict | list | tuple):
        names = range(len(other)) if not isinstance(other, dict) else other.keys()
        assert len(one) == len(other)
        for name in names:
            agree(one[name], other[name])
    else:
        assert one == (pytest.approx(other, abs=1e-3) if isinstance(other, float) else other)


def test_the_answers_are_those_of_the_api(open_page: Opener, exact: str, translator: Translator) -> None:
    page = open_page(at=exact)
    text = "Zwei Männer mit Schutzhelmen bedienen ein Antriebsradsystem, ☃ und Xylophon."
    for question in (
        {"text": EXAMPLE},
        {"text": text},
        {"text": EXAMPLE, "beam_size": 3, "prefix": ["▁a", "▁man", "▁no-such-piece"]},
        {"text": text, "beam_size": 1, "prefix": ["▁two"], "forced": [[1, 5], [4, 0]]},
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
    search = SearchConfig(beam_size=2, max_length=6)
    own = Translator(tiny_model(variant).float(), *tiny_codecs(), search)
    side = SimpleNamespace(language="a", tokenizer="whitespace", lowercase=False)
    data = SimpleNamespace(source=side, target=side, normalize=True, protect=None)
    config: Any = SimpleNamespace(data=data, search=search, training=SimpleNamespace(guided_alignment=None))
    loaded = Loaded(config, own.source, own.target, own.model, None)  # type: ignore[arg-type]  # the tiny model
    write_page("tiny/best.safetensors", loaded, tmp_path / "page", "float32", PACKAGE)
    text, forced = "a b c d b a e f h g", [[1, 2]] if own.has_attention else []
    with running(StaticFiles(directory=tmp_path / "page", html=True)) as address:
        answer = asked(open_page(f"#text={text}", at=address), "explain", text=text, forced=forced)
    agree(answer, serializers.of_explanation(own, explain(own, text, forced=dict(forced))))


def test_captions_are_translated_as_in_python(open_page: Opener, demo: str, translator: Translator) -> None:
    """Nearly all: the page has weights in 8 bits and products in 32."""
    captions = lines_of("de", "test_2016_flickr")[:40]
    page = open_page(at=demo)
    texts = [asked(page, "explain", text=caption)["text"] for caption in captions]
    expected = translator.translate(captions, attention=False)
    assert sum(one == other.text for one, other in zip(texts, expected, strict=True)) >= 38
    parts = asked(page, "translate", text=" ".join(captions[:3]))["sentences"]
    assert [(part["source"], part["text"]) for part in parts] == list(zip(captions, texts[:3], strict=False))


def test_it_loads_once_and_then_works_without_a_network(browser: Browser) -> None:
    context = browser.new_context()
    with running(StaticFiles(directory=DEMO, html=True)) as address:
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


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_stands_in_anyones_way(open_page: Opener, demo: str, look: str, keep: Keeper) -> None:
    page = open_page(at=demo, **LOOKS[look])
    expect(page.locator("[role=tab]")).to_have_text(["Attention", "Step by step", "Beam", "Model"])
    for tab in page.locator("[role=tab]").all():
        tab.click()
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
