"""What the page says when the server does not translate."""

from playwright.sync_api import Browser, Route, expect
from support.page import EXAMPLE, Opener


def test_what_the_server_refuses_is_shown(open_page: Opener) -> None:
    page = open_page()
    page.get_by_label("Sentence", exact=True).fill("Hund " * 600)
    expect(page.get_by_role("status")).to_contain_text("at most 500 tokens")
    page.get_by_label("Sentence", exact=True).fill(EXAMPLE)
    expect(page.get_by_role("status")).to_be_empty()


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
