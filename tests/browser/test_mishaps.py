"""What happens between two answers, by mistake, with a finger, after a refusal: nothing is lost or shown wrongly."""

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from support.page import EXAMPLE, Opener, labels, said

from nmt.page.explanation import Explanation, explain
from nmt.translator import Translator

OTHER = "Zwei Frauen sitzen auf einer Bank."


def type_in(page: Page, text: str) -> None:
    page.get_by_label("Sentence", exact=True).fill(text)


def held_back(page: Page) -> list[Route]:
    """The questions from now on, which nobody answers."""
    held: list[Route] = []
    page.route("**/api/explain", lambda route: held.append(route))
    return held


@pytest.mark.parametrize("place", ["#next-1", "#source-1", ".detail button"])
def test_what_is_still_seen_of_the_sentence_before_changes_nothing(
    open_page: Opener, translator: Translator, place: str
) -> None:
    page = open_page("#view=beam&node=0" if place.startswith(".") else "#view=steps&step=2")
    page.locator(place).wait_for()
    held = held_back(page)
    type_in(page, OTHER)
    page.locator(place).click()
    page.wait_for_timeout(400)  # until it is asked, and longer
    assert [route.request.post_data_json["prefix"] for route in held] == [[]]
    assert [route.request.post_data_json["forced"] for route in held] == [[]]
    held[0].continue_()
    expected = explain(translator, OTHER).translation
    expect(page.locator("#score")).to_have_text(f"score {expected.score:.3f}")
    expect(page.locator("#told")).to_be_empty()


def test_back_closes_a_word_and_asks_nothing(open_page: Opener, explained: Explanation) -> None:
    page = open_page()
    held, dialog = held_back(page), page.get_by_role("dialog")
    for key in ("Escape", ""):
        page.locator("#tab-steps").click()
        page.locator("#said button").nth(2).click()
        expect(dialog).to_be_visible()
        page.keyboard.press(key) if key else page.go_back()
        expect(page).not_to_have_url(re.compile("mind="))
        expect(dialog).not_to_be_visible()
        expect(page.locator("#tab-steps")).to_have_attribute("aria-selected", "true")
        page.go_back()
        expect(page.locator("#tab-attention")).to_have_attribute("aria-selected", "true")
    assert held == []
    expect(page.locator("#score")).to_have_text(f"score {explained.translation.score:.3f}")


def test_who_should_not_trust_a_translation_is_told(open_page: Opener) -> None:
    page = open_page()
    status = page.get_by_role("status")
    expect(status).to_be_empty()
    type_in(page, "<b>Ein Hund</b> <script>alert(1)</script> &amp;")
    expect(status).to_contain_text("was cut off after 100 tokens")
    expect(status).to_contain_text("unlike the text that the model was trained on")
    page.locator("#said button").nth(1).click()  # with a prefix it is no translation of the model's own
    page.get_by_role("dialog").locator(".word:enabled").nth(1).click()
    expect(page.locator("#told")).to_contain_text("begins with")
    expect(status).not_to_contain_text("unlike")


def test_a_translation_is_copied_as_a_text(open_page: Opener, explained: Explanation) -> None:
    page = open_page()
    copy = """([from, to]) => {
        const words = document.querySelectorAll("#said button");
        getSelection().setBaseAndExtent(words[from], 0, words[to], words[to].childNodes.length);
        const clipboardData = new DataTransfer();
        const event = new ClipboardEvent("copy", { clipboardData, bubbles: true, cancelable: true });
        words[from].dispatchEvent(event);
        return event.clipboardData.getData("text/plain");
    }"""
    last = len(explained.translation.tokens) - 1
    assert page.evaluate(copy, [0, last]) == explained.translation.text
    assert page.evaluate(copy, [0, 1]) == explained.translation.text.split()[0]


def test_a_finger_points_first(open_page: Opener) -> None:
    page = open_page(has_touch=True, viewport={"width": 375, "height": 800})
    word, dialog = page.locator("svg.rays [data-row='1']"), page.get_by_role("dialog")
    word.tap()
    assert any(page.locator(".of-source").all_text_contents())
    expect(dialog).not_to_be_visible()
    word.tap()
    expect(dialog).to_be_visible()


def test_a_server_that_comes_back_is_asked_again(browser: Browser, address: str, explained: Explanation) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{address}#words=0")
    page.locator("svg.rays").wait_for()
    page.route("**/api/explain", lambda route: route.abort())
    type_in(page, OTHER)
    expect(page.get_by_role("status")).to_contain_text("The server does not answer")
    with page.expect_request("**/api/explain"):
        type_in(page, EXAMPLE)
    page.unroute("**/api/explain")
    expect(page.locator("#score")).to_have_text(f"score {explained.translation.score:.3f}")
    assert said(page) == labels(explained.translation.tokens)
    expect(page.get_by_role("status")).to_be_empty()
    page.context.close()


def test_the_keyboard_keeps_its_place(open_page: Opener) -> None:
    page = open_page("#view=steps&step=999")
    type_in(page, OTHER)
    page.get_by_role("link", name="Skip to the view").press("Enter")
    expect(page.locator("#panel")).to_be_focused()
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(OTHER)
    expect(page.locator("#tab-steps")).to_have_attribute("aria-selected", "true")
    page.locator("#source-1").focus()
    page.get_by_label("Step", exact=True).evaluate("one => (one.value = 1, one.dispatchEvent(new Event('input')))")
    expect(page.locator("#source-1")).to_be_focused()
    page.locator("#tab-compare").click()
    page.get_by_label("A translation of your own").fill("a dog")
    page.keyboard.press("Tab")
    expect(page.locator(".column")).to_have_count(3)
    expect(page.locator("#save-compare-SVG")).to_be_focused()


def test_what_the_server_refuses_is_shown(open_page: Opener) -> None:
    page = open_page()
    type_in(page, "Hund " * 600)
    expect(page.get_by_role("status")).to_contain_text("at most 500 tokens")
    expect(page.locator("#said button")).to_have_count(0)  # nothing of the sentence before
    type_in(page, EXAMPLE)
    expect(page.get_by_role("status")).to_be_empty()
    page.get_by_label("Beam").fill("99")
    page.get_by_label("Beam").press("Tab")
    expect(page.get_by_label("Beam")).to_have_value("5")


@pytest.mark.parametrize(
    ("path", "view", "place", "drawn", "then"),
    [
        ("explain", "attention", "#busy", "svg.rays", ""),
        ("runs/events?*", "runs", "#panel .hint", "table.samples", "Curves grow while a run trains."),
    ],
)
def test_who_has_to_wait_for_a_busy_server_is_told(
    browser: Browser, address: str, path: str, view: str, place: str, drawn: str, then: str
) -> None:
    page = browser.new_context().new_page()
    refusals = iter([{"retry-after": "1"}, {"retry-after": "1"}])

    def answer(route: Route) -> None:
        headers = next(refusals, None)
        route.fulfill(status=503, headers=headers, json={"error": "busy"}) if headers else route.continue_()

    page.route(f"**/api/{path}", answer)
    page.goto(f"{address}#view={view}")
    expect(page.locator(place)).to_contain_text("The server is busy")
    expect(page.locator(drawn)).to_be_visible()
    expect(page.locator(place)).to_have_text(then)
    page.context.close()


def test_one_refusal_leaves_the_other_columns_and_a_model_that_is_not_there_is_named(open_page: Opener) -> None:
    page = open_page("#view=compare")
    page.get_by_label("A translation of your own").fill("dog " * 1000)
    page.get_by_label("A translation of your own").press("Enter")
    expect(page.locator(".column").nth(2)).to_contain_text("the translation has 1000 tokens")
    expect(page.locator(".column", has_text="log-probability")).to_have_count(2)
    expect(page.get_by_role("status")).to_be_empty()
    page = open_page("#view=runs&model=99")
    page.locator("#tab-attention").click()
    expect(page.get_by_role("status")).to_contain_text("There is no model “99” here")
    expect(page.locator("#panel")).to_be_empty()
