"""A server in a thread, and the machine's own Chromium."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from support.page import EXAMPLE
from support.serving import served

from nmt.page.explanation import Explanation, explain
from nmt.translator import Translator

expect.set_options(timeout=30_000)  # a busy machine needs longer than the usual 5 seconds
PageMaker = Callable[..., Page]


@pytest.fixture(scope="session")
def translator() -> Translator:
    torch.set_num_threads(1)
    return Translator.load(device="cpu")


@pytest.fixture(scope="session")
def explained(translator: Translator) -> Explanation:
    return explain(translator, EXAMPLE)


@pytest.fixture(scope="session")
def address(translator: Translator) -> Iterator[str]:
    greedy = Translator(
        translator.model,
        translator.source,
        translator.target,
        translator.search.model_copy(update={"beam_size": 1}),
    )
    with served({"1": ("bundled", translator), "2": ("bundled, greedy", greedy)}) as address:
        yield address


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[str]]:
    """`with serving(MODELS, …) as address`."""
    return served


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    assert chromium is not None, "these tests need Chromium: apt-get install chromium-headless-shell, or chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[PageMaker]:
    """`open_page(HASH, …)`: a page of its own, which must not complain, and must ask no other server for anything."""
    complaints: list[str] = []
    pages: list[Page] = []

    def note(message: ConsoleMessage) -> None:
        expected = "status of 422" in message.text  # which the page shows
        if message.type in ("error", "warning") and not expected:
            complaints.append(message.text)

    def open_it(place: str = "", at: str = address, **options: object) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1200, "height": 800}} | options))  # type: ignore[arg-type]
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith((at, "blob:")) or complaints.append(request.url))
        page.goto(at + place)
        page.locator("#panel > *").first.wait_for()
        pages.append(page)
        return page

    yield open_it
    for page in pages:
        page.context.close()
    assert complaints == []


@pytest.fixture
def keep() -> Callable[[Page, str], None]:
    """`keep(page, NAME)`: a screenshot in the folder that NMT_SCREENSHOTS names, if any."""

    def keep_it(page: Page, name: str) -> None:
        size = page.viewport_size
        assert size is not None
        whole = page.evaluate(
            "document.documentElement.scrollHeight"
        )  # what lies over the page covers the window alone
        page.set_viewport_size({"width": size["width"], "height": max(whole, size["height"])})
        page.wait_for_timeout(300)  # transitions
        picture = page.screenshot(full_page=True)
        assert picture.startswith(b"\x89PNG")
        if "NMT_SCREENSHOTS" in os.environ:
            folder = Path(os.environ["NMT_SCREENSHOTS"])
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"serve_{name}.png").write_bytes(picture)
        page.set_viewport_size(size)

    return keep_it
