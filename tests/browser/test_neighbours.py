"""Neighbours on the page, beside those of `nmt.page.neighbours`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.page import LOOKS, Keeper, Opener, assert_in_nobodys_way, saved_words

from nmt.page.neighbours import index
from nmt.page.neighbours.index import Index, Neighbour, Side
from nmt.text.tokenizers.case import MARKS
from nmt.translator import Translator

EXAMPLE = "Ein Hund läuft über die Wiese."
PAIRS = [
    ("Ein brauner Hund rennt über ein Feld.", "A brown dog runs across a field."),
    ("Zwei Hunde spielen im Schnee.", "Two dogs play in the snow."),
    ("Eine Frau läuft am Strand.", "A woman walks on the beach."),
    ("Ein Junge springt in den See.", "A boy jumps into the lake."),
    ("Ein Mann sitzt auf einer Bank.", "A man sits on a bench."),
    ("Ein Pferd steht auf der Wiese.", "A horse stands in the meadow."),
]


@pytest.fixture(scope="module")
def own_index(translator: Translator) -> Index:
    return index.build(translator, PAIRS)


@pytest.fixture(scope="module")
def at(serving: Callable[..., AbstractContextManager[str]], translator: Translator, own_index: Index) -> Iterator[str]:
    with serving({"1": ("bundled", translator)}, indexes={"1": own_index}, runs=Path("none")) as address:
        yield address


def expected(translator: Translator, own_index: Index, side: Side, place: int) -> list[Neighbour]:
    tokens = translator.translate([EXAMPLE], vocabulary_selection=False, precision="float32")[0].tokens
    asked = index.vector(translator, EXAMPLE, [token for token in tokens if token != "<eos>"], side, place)
    return own_index.nearest(side, asked, 10)


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
    found = shown(page)
    assert [likeness for likeness, _ in found] == pytest.approx([one.likeness for one in neighbours], abs=6e-4)
    words = [word(one.source if side == "source" else one.target, one.place) for one in neighbours]
    for (_, marked), own in zip(found, words, strict=True):
        assert marked.strip(".,").lower() in own


def test_words_like_the_chosen_one_are_shown(
    open_page: Opener, at: str, translator: Translator, own_index: Index, keep: Keeper
) -> None:
    page = open_page("#view=neighbours&step=1&words=0", at=at)
    assert_shown(page, expected(translator, own_index, "target", 1), "target")
    keep(page, "neighbours")
    page.get_by_role("group", name="source").get_by_role("button", name="hund").click()
    assert_shown(page, expected(translator, own_index, "source", 3), "source")
    other = open_page(page.url[page.url.index("#") :], at=at)
    expect(other.get_by_role("group", name="source").locator("[aria-pressed=true]")).to_have_text("hund")
    expect(other.locator("#panel table tr")).to_have_count(11)
    assert shown(other) == shown(page)
    assert {"likeness", "hund"} <= saved_words(other)


@pytest.mark.parametrize("look", LOOKS)
def test_it_stands_in_nobodys_way(open_page: Opener, at: str, look: str) -> None:
    page = open_page("#view=neighbours", at=at, **LOOKS[look])
    expect(page.locator("#panel table tr")).to_have_count(11)
    assert_in_nobodys_way(page)


def test_without_an_index_it_says_how_to_get_one(open_page: Opener) -> None:
    expect(open_page("#view=neighbours").locator("#panel")).to_contain_text("nmt index CHECKPOINT")
