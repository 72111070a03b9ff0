"""What the page shows of heads, of a local window and of two levels: tiny models beside their own values."""

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from support.page import Opener
from support.serving import served
from support.tiny_models import Variant, tiny_codecs, tiny_model

from nmt.config.search import SearchConfig
from nmt.page.explanation import explain
from nmt.page.steps import AttentionTrace
from nmt.translator import Translator

TEXT = "a b c d e f g h"
VARIANTS = [
    Variant("luong", "general", extra="heads"),
    Variant("luong", "general", "local_p", extra="heads"),
    Variant("bahdanau", scope="hierarchical"),
    Variant("bahdanau", extra="coverage"),
    Variant("none"),
]


@pytest.fixture(scope="module")
def tiny() -> list[Translator]:
    search = SearchConfig(beam_size=2, max_length=6, precision="float32")
    return [Translator(tiny_model(variant), *tiny_codecs(), search) for variant in VARIANTS]


@pytest.fixture(scope="module")
def at(translator: Translator, tiny: list[Translator]) -> Iterator[str]:
    """A server of these models, from 1, and of the bundled one as the last."""
    with served({str(n): (f"model {n}", one) for n, one in enumerate([*tiny, translator], start=1)}) as address:
        yield address


def traces_of(translator: Translator) -> list[AttentionTrace]:
    return [step.attention for step in explain(translator, TEXT).steps if step.attention is not None]


def shown(page: Page) -> list[float]:
    return [float(title.rsplit(": ", 1)[1]) for title in page.locator("svg.heat title").all_text_contents()]


def column(table: Locator, number: int) -> list[float]:
    """The numbers of a column."""
    return [float(row.locator("td.number").nth(number).inner_text()) for row in table.locator("tr").all()[1:]]


def assert_windows_are_those_of_the_model(page: Page, traces: list[AttentionTrace]) -> None:
    """Over the words within D of p_t, and the arrow at p_t, which may lie between two words. All heads are shown."""
    plates = page.locator("svg.rays [data-column] .plate").all()
    rows = [float(plate.get_attribute("y") or 0) + 13 for plate in plates]
    windows, arrows = page.locator("svg.rays rect.window").all(), page.locator("svg.rays path.centre").all()
    centres = [(trace.window or 0, p) for trace in traces if trace.centre is not None for p in trace.centre.tolist()]
    for (d, centre), window, arrow in zip(centres, windows, arrows, strict=True):
        top = float(window.get_attribute("y") or 0)
        bottom = top + float(window.get_attribute("height") or 0)
        inside = [position for position, y in enumerate(rows) if top < y < bottom]
        assert inside == [position for position in range(len(rows)) if abs(position - centre) <= d]
        y = float(re.findall(r"M[^,]*,([^ ]*)", arrow.get_attribute("d") or "")[0])
        assert y == pytest.approx(np.interp(centre, range(len(rows)), rows), abs=0.1)


@pytest.mark.parametrize("number", range(1, 4), ids=lambda number: str(VARIANTS[number - 1]))
def test_each_mechanism_shows_what_it_does(open_page: Opener, at: str, tiny: list[Translator], number: int) -> None:
    variant, translator = VARIANTS[number - 1], tiny[number - 1]
    traces = traces_of(translator)
    page = open_page(f"#model={number}&text={TEXT}", at=at)
    page.locator("svg.heat").wait_for()
    choice = page.get_by_label("Which part of the attention")
    assert shown(page) == pytest.approx([w for t in traces for w in t.weights.mean(dim=0).tolist()], abs=6e-4)
    for head in range(len(traces[0].weights)) if variant.extra == "heads" else ():
        choice.select_option(label=f"head {head + 1}")
        assert shown(page) == pytest.approx([w for t in traces for w in t.weights[head].tolist()], abs=6e-4)
    if variant.scope == "local_p":
        for head, heads in (("head 2", 1), ("mean of all heads", 2)):
            choice.select_option(label=head)
            page.locator("svg.rays [data-row='0']").hover()
            lit = [node.get_attribute("opacity") for node in page.locator("svg.rays .window").all()]
            assert lit == ["1" if row == 0 else "0" for row in range(len(traces)) for _ in range(heads)]
            assert page.locator("svg.rays path.centre").count() == heads * len(traces)
        assert_windows_are_those_of_the_model(page, traces)
    elif variant.scope == "hierarchical":
        levels = translator.translate([TEXT])[0].levels
        assert levels is not None
        of_sentences, within = (level.flatten().tolist() for level in levels)
        choice.select_option(label="which sentence")
        assert shown(page) == pytest.approx(of_sentences, abs=6e-4)
        choice.select_option(label="which word of each sentence")
        assert shown(page) == pytest.approx(within, abs=6e-4)
        assert len(of_sentences) < len(within)


def test_heads_have_scores_and_coverage_grows(open_page: Opener, at: str, tiny: list[Translator]) -> None:
    trace = traces_of(tiny[0])[1]
    page = open_page(f"#view=steps&step=1&text={TEXT}", at=at)
    choice, table = page.get_by_label("Which part of the attention"), page.locator(".steps table").first
    expect(table.locator("th")).to_have_text(["source", "weight", "of the context"])
    assert column(table, 0) == pytest.approx(trace.weights.mean(dim=0).tolist(), abs=6e-4)
    for head in (0, 1):
        choice.select_option(label=f"head {head + 1}")
        expect(table.locator("th")).to_have_text(["source", "score", "weight", "of the context"])
        assert column(table, 0) == pytest.approx(trace.scores[head].tolist(), abs=6e-3)
        assert column(table, 1) == pytest.approx(trace.weights[head].tolist(), abs=6e-4)
    page = open_page(f"#model=4&text={TEXT}", at=at)
    coverages = [trace.coverage.tolist() for trace in traces_of(tiny[3]) if trace.coverage is not None]
    for row, coverage in enumerate(coverages):
        page.locator(f"svg.rays [data-row='{row}']").hover()
        widths = [float(bar.get_attribute("width") or 0) for bar in page.locator("svg.rays .received").all()]
        assert widths == pytest.approx([min(46, 23 * total) for total in coverage], abs=1e-2)
    page.locator("#tab-steps").click()
    page.get_by_label("Step", exact=True).press("End")
    meters = page.locator("meter[aria-label^='attention so far']").all()
    assert [float(m.get_attribute("value") or 0) for m in meters] == pytest.approx(coverages[-1], abs=1e-3)
