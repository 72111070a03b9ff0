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


def held_back(page: Page, path: str = "explain") -> list[Route]:
    """The requests from now on, which nobody answers."""
    held: list[Route] = []
    page.route(f"**/api/{path}", lambda route: held.append(route))
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


def test_skipping_to_the_view_keeps_the_sentence(open_page: Opener) -> None:
    page = open_page("#view=steps")
    type_in(page, OTHER)
    page.get_by_role("link", name="Skip to the view").press("Enter")
    expect(page.locator("#panel")).to_be_focused()
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(OTHER)
    expect(page.locator("#tab-steps")).to_have_attribute("aria-selected", "true")


def test_back_closes_a_word_and_asks_nothing(open_page: Opener, explained: Explanation) -> None:
    page = open_page()
    held = held_back(page)
    for close in ("Escape", "Back"):
        page.locator("#tab-steps").click()
        page.locator("#said button").nth(2).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        if close == "Escape":
            page.keyboard.press("Escape")
        else:
            page.go_back()
        expect(page).not_to_have_url(re.compile("mind="))
        expect(page.get_by_role("dialog")).not_to_be_visible()
        expect(page.locator("#tab-steps")).to_have_attribute("aria-selected", "true")
        page.go_back()
        expect(page.locator("#tab-attention")).to_have_attribute("aria-selected", "true")
    assert held == []
    expect(page.locator("#score")).to_have_text(f"score {explained.translation.score:.3f}")


def test_who_should_not_trust_a_translation_is_told(open_page: Opener, translator: Translator) -> None:
    page = open_page()
    expect(page.get_by_role("status")).to_be_empty()
    markup = "<b>Ein Hund</b> <script>alert(1)</script> &amp;"
    for text in ("Meine Großmutter backt jeden Sonntag Apfelkuchen.", markup):
        type_in(page, text)
        translation = explain(translator, text).translation
        expect(page.locator("#score")).to_have_text(f"score {translation.score:.3f}")
        assert translation.is_unlike_training
        expect(page.get_by_role("status")).to_contain_text("unlike the text that the model was trained on")
        is_cut = translation.tokens[-1] != "<eos>"
        assert ("was cut off after 100 tokens" in page.get_by_role("status").inner_text()) is is_cut
    page.locator("#said button").nth(1).click()  # with a prefix it is no translation of the model's own
    page.get_by_role("dialog").locator(".word:enabled").nth(1).click()
    expect(page.locator("#told")).to_contain_text("begins with")
    expect(page.get_by_role("status")).not_to_contain_text("unlike")


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


def test_a_finger_points_first_and_a_model_that_is_not_there_is_named(open_page: Opener) -> None:
    page = open_page(has_touch=True, viewport={"width": 375, "height": 800})
    word = page.locator("svg.rays [data-row='1']")
    word.tap()
    assert any(page.locator(".of-source").all_text_contents())
    expect(page.get_by_role("dialog")).not_to_be_visible()
    word.tap()
    expect(page.get_by_role("dialog")).to_be_visible()
    page = open_page("#view=runs&model=99")
    page.locator("#tab-attention").click()
    expect(page.get_by_role("status")).to_contain_text("There is no model “99” here")
    expect(page.locator("#panel")).to_be_empty()


def test_a_server_that_comes_back_is_asked_again(browser: Browser, address: str, explained: Explanation) -> None:
    page = browser.new_context().new_page()
    page.goto(address)
    page.locator("svg.rays").wait_for()
    lost: list[str] = []

    def lose(route: Route) -> None:
        lost.append(route.request.post_data_json["text"])
        route.abort()

    page.route("**/api/explain", lose)
    type_in(page, OTHER)
    expect(page.get_by_role("status")).to_contain_text("The server does not answer")
    type_in(page, EXAMPLE)
    while lost[-1] != EXAMPLE:
        page.wait_for_timeout(50)
    page.unroute("**/api/explain")
    expect(page.locator("#score")).to_have_text(f"score {explained.translation.score:.3f}")
    assert said(page) == labels(explained.translation.tokens)
    expect(page.get_by_role("status")).to_be_empty()
    page.context.close()


def test_the_keyboard_keeps_its_place(open_page: Opener) -> None:
    page = open_page("#view=steps&step=999")
    forward = page.get_by_role("button", name="Next")
    expect(forward).to_have_attribute("aria-disabled", "true")
    forward.press("Enter")
    expect(forward).to_be_focused()
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
    page.get_by_label("Sentence", exact=True).fill("Hund " * 600)
    expect(page.get_by_role("status")).to_contain_text("at most 500 tokens")
    expect(page.locator("#said button")).to_have_count(0)  # nothing of the sentence before
    page.get_by_label("Sentence", exact=True).fill(EXAMPLE)
    expect(page.get_by_role("status")).to_be_empty()
    page.get_by_label("Beam").fill("99")
    page.get_by_label("Beam").press("Tab")
    expect(page.get_by_label("Beam")).to_have_value("5")


def test_who_has_to_wait_for_a_busy_server_is_told(browser: Browser, address: str) -> None:
    page = browser.new_context().new_page()
    refused = iter([True, True, False])

    def answer(route: Route) -> None:
        if next(refused, False):
            route.fulfill(status=503, headers={"retry-after": "1"}, json={"error": "too much is waiting"})
        else:
            route.continue_()

    page.route("**/api/explain", answer)
    page.goto(address)
    expect(page.locator("#busy")).to_contain_text("The server is busy")
    expect(page.locator("svg.rays")).to_be_visible()
    expect(page.locator("#busy")).to_be_empty()
    page.context.close()


def test_one_refusal_leaves_the_other_columns(open_page: Opener) -> None:
    page = open_page("#view=compare")
    page.get_by_label("A translation of your own").fill("dog " * 1000)
    page.get_by_label("A translation of your own").press("Enter")
    columns = page.locator(".column")
    expect(columns).to_have_count(3)
    expect(columns.nth(2)).to_contain_text("the translation has 1000 tokens")
    for place in (0, 1):
        expect(columns.nth(place)).to_contain_text("log-probability")
    expect(page.get_by_role("status")).to_be_empty()


def test_a_typed_word_is_put_into_its_own_sentence_alone(open_page: Opener) -> None:
    page = open_page()
    page.locator("#said button").nth(2).click()
    page.get_by_label("Another word").fill("cat")
    held = held_back(page, "read")
    page.get_by_role("button", name="Put it there").click()
    while not held:
        page.wait_for_timeout(20)
    page.get_by_label("Sentence", exact=True).fill("Zwei Frauen.")
    expect(page.locator("#said")).to_contain_text("women")
    with page.expect_response("**/api/read"):
        held.pop().continue_()
    page.wait_for_timeout(300)
    expect(page.locator("#told")).to_be_empty()


def test_a_clicked_word_is_one_of_the_answer_that_is_awaited(open_page: Opener, explained: Explanation) -> None:
    page = open_page()
    page.locator("#said button").nth(1).click()
    page.get_by_label("Another word").fill("giraffe")
    page.get_by_role("button", name="Put it there").click()
    expect(page.locator("#told")).to_contain_text("Giraffe")
    held = held_back(page)
    page.get_by_role("button", name="Let it decide again").click()
    page.locator("#said button").nth(1).click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    while not held:
        page.wait_for_timeout(20)
    held.pop().continue_()
    expect(page.get_by_role("dialog")).to_contain_text(f"Instead of “{labels([explained.translation.tokens[1]])}”")
