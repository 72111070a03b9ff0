"""Neighbours on the page, beside those of `nmt.page.neighbours`."""

import pytest
from playwright.sync_api import Page, expect
from support.page import EXAMPLE, Keeper, Opener, saved_words

from nmt.page.neighbours import index
from nmt.page.neighbours.index import Index, Neighbour, Side
from nmt.text.tokenizers.case import MARKS
from nmt.translator import Translator


def expected(translator: Translator, own_index: Index, side: Side, place: int) -> list[Neighbour]:
    tokens = translator.translate([EXAMPLE], vocabulary_selection=False, precision="float32")[0].tokens
    query = index.vector(translator, EXAMPLE, [token for token in tokens if token != "<eos>"], side, place)
    return own_index.nearest(side, query, 10)


def shown(page: Page) -> list[tuple[float, str]]:
    """Each neighbour's likeness and its marked word."""
    rows = page.locator("#panel table tr").all()[1:]
    return [(float(row.locator("td").first.inner_text()), row.locator("mark").inner_text()) for row in rows]


def word(tokens: list[str], place: int) -> str:
    """The word that a token is a piece of, or that a mark of case stands before, in lower case."""
    place += tokens[place] in MARKS
    starts = [token.startswith("▁") or token in MARKS for token in tokens]
    begin = max(i for i in range(place + 1) if starts[i] or i == 0)
    end = next((i for i in range(place + 1, len(tokens)) if starts[i]), len(tokens))
    return "".join(tokens[begin:end]).replace("▁", "")


def assert_shown(page: Page, neighbours: list[Neighbour], side: Side) -> None:
    expect(page.locator("#panel table tr")).to_have_count(11)
    expect(page.locator("#panel table td").first).to_have_text(f"{neighbours[0].likeness:.3f}")
    rows = shown(page)
    assert [likeness for likeness, _ in rows] == pytest.approx([one.likeness for one in neighbours], abs=6e-4)
    words = [word(one.source if side == "source" else one.target, one.place) for one in neighbours]
    for (_, marked), whole in zip(rows, words, strict=True):
        assert marked.strip(".,").lower() in whole


def test_words_like_the_chosen_one_are_shown(
    open_page: Opener, translator: Translator, own_index: Index, keep: Keeper
) -> None:
    page = open_page("#view=neighbours&step=1&words=0")
    assert_shown(page, expected(translator, own_index, "target", 1), "target")
    keep(page, "neighbours")
    page.get_by_role("group", name="source").get_by_role("button", name="hund").click()
    assert_shown(page, expected(translator, own_index, "source", 3), "source")
    other = open_page(page.url[page.url.index("#") :])
    expect(other.get_by_role("group", name="source").locator("[aria-pressed=true]")).to_have_text("hund")
    expect(other.locator("#panel table tr")).to_have_count(11)
    assert shown(other) == shown(page)
    assert {"likeness", "hund"} <= saved_words(other)
