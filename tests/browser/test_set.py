"""A test set on the page, beside what the API says of it (tests/page/test_test_sets.py)."""

import pytest
from playwright.sync_api import Page, expect
from support.page import PAIRS, Keeper, Opener, cells, saved_words
from support.serving import asked

SOURCES = list(PAIRS)


def sentences(page: Page) -> list[list[str]]:
    return cells(page.locator("table.list").last)[1:]


def ready(page: Page) -> None:
    expect(page.locator("svg.chart")).to_be_visible(timeout=30_000)
    expect(page.locator("progress")).to_have_count(0, timeout=30_000)


def test_sentences_have_scores_and_an_order(open_page: Opener, address: str, keep: Keeper) -> None:
    page = open_page("#view=set")
    ready(page)
    models, progress = asked(address, "/api/sets/1/sentences")["models"], asked(address, "/api/sets/1")["models"]
    one, other = (model["chrf"] for model in models)
    assert one != other
    assert [row[0] for row in sentences(page)] == SOURCES
    assert [row[2:] for row in sentences(page)] == [[f"{a:.1f}", f"{b:.1f}"] for a, b in zip(one, other, strict=True)]
    for row, values in zip(cells(page.locator("table.list").first)[1:], progress, strict=True):
        bleu, chrf, rate = (values["summary"][name] for name in ("bleu", "chrf", "error_rate"))
        assert row[1:4] == [f"{bleu:.2f}", f"{chrf:.2f}", f"{100 * rate:.1f} %"]
    page.get_by_role("combobox", name="Score", exact=True).select_option(label="BLEU")
    assert [row[3] for row in sentences(page)] == [f"{score:.1f}" for score in models[1]["bleu"]]
    page.get_by_role("combobox", name="Score", exact=True).select_option(label="chrF")
    by_order = {
        "longest first": [4, 2, 5, 0, 1, 3],
        "worst of bundled, greedy first": sorted(range(6), key=lambda i: other[i]),
        "where bundled is better than bundled, greedy": sorted(range(6), key=lambda i: other[i] - one[i]),
    }
    for name, order in by_order.items():
        page.get_by_label("Order").select_option(label=name)
        assert [row[0] for row in sentences(page)] == [SOURCES[i] for i in order]
    page.get_by_role("button", name=SOURCES[0]).click()
    expect(page.locator("svg.heat")).to_have_count(2)
    keep(page, "set")
    assert page.locator("main b").count() == 0
    again = open_page(page.url[page.url.index("#") :])
    ready(again)
    assert sentences(again) == sentences(page)
    expect(again.locator("svg.heat")).to_have_count(2)
    assert {"Wiese.", "chrF", "BLEU"} <= saved_words(again)


def test_gold_links_are_outlined(open_page: Opener, address: str) -> None:
    page = open_page("#view=set&line=0")
    ready(page)
    expect(page.locator("svg.heat")).to_have_count(2)
    heat, [model, _] = page.locator("svg.heat").first, asked(address, "/api/sets/1/sentences/0")["models"]
    assert (heat.locator(".gold.sure").count(), heat.locator(".gold.possible").count()) == (4, 2)
    shown = [float(title.rsplit(": ", 1)[1]) for title in heat.locator("title").all_text_contents()]
    assert shown == pytest.approx([weight for row in model["weights"] for weight in row], abs=6e-4)
    column = page.locator(".column", has_text="attention while it writes").first
    expect(column).to_contain_text(f"{100 * model['error_rate']:.1f} %")


def test_a_point_of_the_figure_opens_its_sentences(open_page: Opener, address: str) -> None:
    page = open_page("#view=set")
    ready(page)
    points = page.locator("svg.chart circle[aria-label^='bundled, ']:not([aria-label^='bundled, greedy'])")
    labels = [point.get_attribute("aria-label") or "" for point in points.all()]
    buckets = asked(address, "/api/sets/1")["models"][0]["summary"]["by_length"]
    assert [(label.split(":")[0], label.split(", ")[-1]) for label in labels] == [
        (f"bundled, {b['low']}–{b['high']} words", f"{b['count']} sentences") for b in buckets if b["count"]
    ]
    points.first.focus()
    page.keyboard.press("Enter")
    expect(points.first).to_be_focused()
    lengths = asked(address, "/api/sets/1/sentences")["lengths"]
    assert [row[0] for row in sentences(page)] == [s for s, n in zip(SOURCES, lengths, strict=True) if n <= 5]
    page.get_by_role("button", name="All lengths").click()
    assert len(sentences(page)) == 6
    page.get_by_role("button", name=SOURCES[1]).press("Enter")
    page.get_by_role("button", name="Watch it being translated").click()
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(SOURCES[1])
    expect(page.locator("#score")).not_to_be_empty()
