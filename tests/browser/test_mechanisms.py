"""What the page shows of heads, of a local window and of two levels: tiny models beside their own values."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from support.tiny_models import Variant, tiny_codecs, tiny_model

from nmt.config.search import SearchConfig
from nmt.page.explanation import explain
from nmt.page.steps import AttentionTrace
from nmt.translator import Translator

TEXT = "a b c d e f g h"
VARIANTS = [
    Variant("luong", "general", extra="heads"),
    Variant("luong", scope="local_p"),
    Variant("luong", "general", "local_p", extra="heads"),
    Variant("bahdanau", scope="hierarchical"),
]


def shown(page: Page) -> list[float]:
    return [float(title.rsplit(": ", 1)[1]) for title in page.locator("svg.heat title").all_text_contents()]


def column(table: Locator, place: int) -> list[float]:
    """The numbers of a column."""
    return [float(row.locator("td.number").nth(place).inner_text()) for row in table.locator("tr").all()[1:]]


def assert_windows_are_where_the_model_looks(page: Page, looks: list[AttentionTrace]) -> None:
    """Over the words within D of p_t, and the arrow at p_t, which may lie between two words. All heads are shown."""
    plates = page.locator("svg.rays [data-column] .plate").all()
    rows = [float(plate.get_attribute("y") or 0) + 13 for plate in plates]
    windows, centres = page.locator("svg.rays rect.window").all(), page.locator("svg.rays path.centre").all()
    each = [(look.window or 0, centre) for look in looks if look.centre is not None for centre in look.centre.tolist()]
    for (d, centre), window, arrow in zip(each, windows, centres, strict=True):
        top = float(window.get_attribute("y") or 0)
        bottom = top + float(window.get_attribute("height") or 0)
        inside = [place for place, y in enumerate(rows) if top < y < bottom]
        assert inside == [place for place in range(len(rows)) if abs(place - centre) <= d]
        y = float(re.findall(r"M[^,]*,([^ ]*)", arrow.get_attribute("d") or "")[0])
        assert y == pytest.approx(np.interp(centre, range(len(rows)), rows), abs=0.1)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_each_mechanism_shows_what_it_does(
    browser: Browser, serving: Callable[..., AbstractContextManager[str]], variant: Variant
) -> None:
    search = SearchConfig(beam_size=2, max_length=6, precision="float32")
    translator = Translator(tiny_model(variant), *tiny_codecs(), search)
    found = explain(translator, TEXT)
    looks = [step.look for step in found.steps if step.look is not None]
    with serving({"1": ("tiny", translator)}) as address:
        context = browser.new_context(viewport={"width": 1200, "height": 800})
        page = context.new_page()
        page.goto(f"{address}#text={TEXT}")
        page.locator("svg.heat").wait_for()
        choice = page.get_by_label("Which part of the attention")
        assert shown(page) == pytest.approx([w for look in looks for w in look.weights.mean(dim=0).tolist()], abs=6e-4)
        if variant.extra == "heads":
            for head in (0, 1):
                choice.select_option(label=f"head {head + 1}")
                assert shown(page) == pytest.approx(
                    [w for look in looks for w in look.weights[head].tolist()], abs=6e-4
                )
            other = context.new_page()
            other.goto(page.url)
            other.locator("svg.heat").wait_for()
            assert shown(other) == shown(page)
            page.get_by_label("Sentence", exact=True).fill(f"{TEXT} ")  # the same, asked again
            expect(choice).to_have_value("2")
        if variant.scope == "local_p":
            assert choice.count() == (variant.extra == "heads")
            for head, heads in (("head 2", 1), ("mean of all heads", 2)) if choice.count() else (("", 1),):
                choice.select_option(label=head) if head else None
                page.locator("svg.rays [data-row='0']").hover()
                lit = [node.get_attribute("opacity") for node in page.locator("svg.rays .window").all()]
                assert lit == ["1" if row == 0 else "0" for row in range(len(looks)) for _ in range(heads)]
                assert page.locator("svg.rays path.centre").count() == heads * len(looks)
            assert_windows_are_where_the_model_looks(page, looks)
        elif variant.scope == "hierarchical":
            levels = translator.translate([TEXT])[0].levels
            assert levels is not None
            of_sentences, within = (level.flatten().tolist() for level in levels)
            choice.select_option(label="which sentence")
            assert shown(page) == pytest.approx(of_sentences, abs=6e-4)
            choice.select_option(label="which word of each sentence")
            assert shown(page) == pytest.approx(within, abs=6e-4)
            assert torch.tensor(of_sentences).numel() < torch.tensor(within).numel()
        context.close()


def test_each_head_has_scores_of_its_own(browser: Browser, serving: Callable[..., AbstractContextManager[str]]) -> None:
    search = SearchConfig(beam_size=2, max_length=6, precision="float32")
    translator = Translator(tiny_model(VARIANTS[0]), *tiny_codecs(), search)
    look = explain(translator, TEXT).steps[1].look
    assert look is not None
    with serving({"1": ("tiny", translator)}) as address:
        page = browser.new_page()
        page.goto(f"{address}#view=steps&step=1&text={TEXT}")
        choice = page.get_by_label("Which part of the attention")
        table = page.locator(".steps table").first
        expect(table.locator("th")).to_have_text(["source", "weight", "of the context"])
        assert column(table, 0) == pytest.approx(look.weights.mean(dim=0).tolist(), abs=6e-4)
        for head in (0, 1):
            choice.select_option(label=f"head {head + 1}")
            expect(table.locator("th")).to_have_text(["source", "score", "weight", "of the context"])
            assert column(table, 0) == pytest.approx(look.scores[head].tolist(), abs=6e-3)
            assert column(table, 1) == pytest.approx(look.weights[head].tolist(), abs=6e-4)
        page.close()


def test_coverage_is_shown_while_it_grows(
    browser: Browser, serving: Callable[..., AbstractContextManager[str]]
) -> None:
    search = SearchConfig(beam_size=2, max_length=6, precision="float32")
    translator = Translator(tiny_model(Variant("bahdanau", extra="coverage")), *tiny_codecs(), search)
    looks = [step.look for step in explain(translator, TEXT).steps if step.look is not None]
    with serving({"1": ("tiny", translator)}) as address:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(f"{address}#text={TEXT}")
        for row, look in enumerate(looks):
            page.locator(f"svg.rays [data-row='{row}']").hover()
            assert look.coverage is not None
            widths = [float(bar.get_attribute("width") or 0) for bar in page.locator("svg.rays .received").all()]
            assert widths == pytest.approx([min(46, 23 * sum) for sum in look.coverage.tolist()], abs=1e-2)
        page.locator("#tab-steps").click()
        page.get_by_label("Step", exact=True).press("End")
        assert looks[-1].coverage is not None
        read = [
            float(m.get_attribute("value") or 0) for m in page.locator("meter[aria-label^='attention so far']").all()
        ]
        assert read == pytest.approx(looks[-1].coverage.tolist(), abs=1e-3)
        page.close()


def test_four_of_many_models_are_compared(
    browser: Browser, serving: Callable[..., AbstractContextManager[str]]
) -> None:
    search = SearchConfig(beam_size=2, max_length=6, precision="float32")
    variants = [*VARIANTS, Variant("bahdanau"), Variant("none")]
    translators = [Translator(tiny_model(variant), *tiny_codecs(), search) for variant in variants]
    with serving({str(n): (f"model {n}", one) for n, one in enumerate(translators, start=1)}) as address:
        page = browser.new_page()
        page.goto(f"{address}#view=compare&text={TEXT}")
        columns = page.locator(".column")
        expect(columns.locator("h3")).to_have_text(["model 1", "model 2", "model 3", "model 4"])
        expect(page.get_by_role("checkbox", name="model 6")).to_be_disabled()
        page.get_by_role("checkbox", name="model 2").uncheck()
        page.get_by_role("checkbox", name="model 6").check()
        expect(columns.locator("h3")).to_have_text(["model 1", "model 3", "model 4", "model 6"])
        for place, one in enumerate((0, 2, 3, 5)):
            found = explain(translators[one], TEXT).translation
            expect(columns.nth(place)).to_contain_text(f"score {found.score:.3f}")
        for name in ("model 1", "model 3", "model 4"):
            page.get_by_role("checkbox", name=name).uncheck()
        expect(columns).to_have_count(1)
        expect(page.get_by_role("checkbox", name="model 6")).to_be_disabled()
        page.close()


def test_models_of_other_tokens_are_told_the_same(
    browser: Browser, serving: Callable[..., AbstractContextManager[str]], translator: Translator
) -> None:
    """The same beginning, as a text; attention is forced only where both read the same tokens."""
    search = SearchConfig(beam_size=2, max_length=6, precision="float32")
    tiny = Translator(tiny_model(VARIANTS[0]), *tiny_codecs(), search)
    with serving({"1": ("bundled", translator), "2": ("tiny", tiny)}) as address:
        context = browser.new_context()
        page = context.new_page()
        prefix = ["▁a", "▁b"]
        page.goto(f"{address}#view=compare&text={TEXT}&prefix={json.dumps(prefix)}&forced=[[2,1]]")
        columns = page.locator(".column")
        expect(columns).to_have_count(2)
        own = explain(translator, TEXT, prefix=prefix, forced={2: 1}).translation
        expect(columns.nth(0)).to_contain_text(f"score {own.score:.3f}")
        other = explain(tiny, TEXT, prefix=["a", "b"]).translation
        expect(columns.nth(1)).to_contain_text(f"score {other.score:.3f}")
        expect(columns.nth(1)).to_contain_text("no attention was forced")
        context.close()
