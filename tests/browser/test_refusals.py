"""What the page does while the server does not translate, or not yet."""

from playwright.sync_api import Browser, Route, expect
from support.page import EXAMPLE, Opener, labels

from nmt.page.explanation import Explanation


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
    held: list[Route] = []
    page.route("**/api/read", lambda route: held.append(route))
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
    held: list[Route] = []
    page.route("**/api/explain", lambda route: held.append(route))
    page.get_by_role("button", name="Let it decide again").click()
    page.locator("#said button").nth(1).click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    while not held:
        page.wait_for_timeout(20)
    held.pop().continue_()
    expect(page.get_by_role("dialog")).to_contain_text(f"Instead of “{labels([explained.translation.tokens[1]])}”")
