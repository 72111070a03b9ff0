"""Neighbours on the page, beside those of the API."""

from playwright.sync_api import expect
from support.page import EXAMPLE, Keeper, Opener, saved_words
from support.serving import asked

from nmt.page.explanation import Explanation


def test_words_like_the_chosen_one_are_shown(
    open_page: Opener, address: str, explained: Explanation, keep: Keeper
) -> None:
    page = open_page("#view=neighbours&step=1&words=0")
    rows, tokens = page.locator("#panel table tr"), explained.translation.tokens[:-1]
    for side, place in (("target", 1), ("source", 3)):
        if side == "source":
            page.get_by_role("group", name="source").get_by_role("button", name="hund").click()
        question = {"text": EXAMPLE, "target": tokens, "side": side, "place": place}
        nearest = asked(address, "/api/neighbours", question)["neighbours"]
        expect(page.locator("#panel table td").first).to_have_text(f"{nearest[0]['likeness']:.3f}")
        for row, neighbour in zip(rows.all()[1:], nearest, strict=True):
            assert row.locator("td").first.inner_text() == f"{neighbour['likeness']:.3f}"
            token = neighbour[side][neighbour["place"]]["token"]
            assert token.strip("▁⇧").lower() in row.locator("mark").inner_text().lower()
        keep(page, "neighbours") if side == "target" else None
    other = open_page(page.url[page.url.index("#") :])
    expect(other.get_by_role("group", name="source").locator("[aria-pressed=true]")).to_have_text("hund")
    expect(other.locator("#panel table")).to_have_text(page.locator("#panel table").text_content() or "")
    assert {"likeness", "hund"} <= saved_words(other)
