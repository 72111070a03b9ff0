"""Every view has an address that shows others the same, and is saved as a picture."""

from playwright.sync_api import expect
from support.page import Opener, said, saved_words

from nmt.page.explanation import Explanation

SENTENCE = "Zwei Männer spielen Fußball."


def test_an_address_shows_the_same_to_everybody(open_page: Opener) -> None:
    def assert_shared() -> None:
        other = open_page(page.url[page.url.index("#") :])
        expect(other.locator("#panel svg").first).to_be_visible()
        expect(other.locator("#panel")).to_have_text(page.locator("#panel").text_content() or "")
        assert said(other) == said(page)

    page = open_page("#view=beam&beam=3")
    page.get_by_label("Sentence", exact=True).fill(SENTENCE)
    expect(page.locator("#said")).to_contain_text("Two")
    page.locator("#said button").first.click()
    page.get_by_role("dialog").get_by_role("button").nth(2).click()
    expect(page.locator("#told")).to_contain_text("begins with")
    assert_shared()
    page.go_back()
    expect(page.locator("#told")).not_to_contain_text("begins with")
    page.keyboard.press("Escape")  # the word is open again
    page.locator("#tab-attention").click()
    page.get_by_label("whole words").uncheck()
    assert_shared()
    page.locator("#tab-steps").click()
    page.get_by_role("button", name="Next").click()
    assert_shared()
    page.locator("#tab-compare").click()
    page.get_by_role("checkbox", name="bundled, greedy").uncheck()
    page.get_by_label("A translation of your own").fill("two men play.")
    page.get_by_label("A translation of your own").press("Enter")
    expect(page.locator(".column")).to_have_count(2)
    assert_shared()


def test_every_view_is_saved_and_one_that_does_not_exist_is_the_first(
    open_page: Opener, explained: Explanation
) -> None:
    views = {
        "attention": {"Hund", "dog", "total", "attention"},
        "steps": {"Hund", "probability", "weight", f"{explained.steps[1].likeliest[0][1]:.3f}"},
        "beam": {"dog", "step"},
        "compare": {"bundled,", "greedy", "score", "Hund", "dog"},
    }
    page = open_page("#step=1", words=True)
    for view, words in views.items():
        page.locator(f"#tab-{view}").click()
        page.locator("#panel svg").first.wait_for()
        assert words <= saved_words(page)
    for view in ("nothing", "toString", "__proto__"):
        expect(open_page(f"#view={view}").locator("#tab-attention")).to_have_attribute("aria-selected", "true")
