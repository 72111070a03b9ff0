"""A server in a thread, and the machine's own Chromium."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from support.page import EXAMPLE, LINKS, PAIRS, RUNS, measure
from support.serving import served

from nmt.page.explanation import Explanation, explain
from nmt.page.neighbours import index
from nmt.page.test_sets import load_set
from nmt.training.event_log import EventLog
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
def greedy(translator: Translator) -> Translator:
    search = translator.search.model_copy(update={"beam_size": 1})
    return Translator(translator.model, translator.source, translator.target, search)


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    for better, (name, scope) in enumerate(RUNS.items()):
        (folder / name).mkdir(parents=True)
        config = f"name: {name}\nmodel: {{cell: gru, attention: {{scope: {scope}}}}}\n"
        (folder / name / "config.yaml").write_text(config, encoding="utf-8")
        with closing(EventLog(folder / name)) as log:
            measure(log, range(50, 850, 50), better / 2)
            if scope == "local_p":
                log.write("end", 800, 1, reason="800 updates", best=30.0, seconds=9.0)
    return folder


@pytest.fixture(scope="session")
def address(
    translator: Translator, greedy: Translator, runs_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server that has everything: two models, an index of the first, a test set, and runs."""
    folder = tmp_path_factory.mktemp("set")
    files = [folder / f"captions.{ending}" for ending in ("de", "en", "links")]
    for file, lines in zip(files, (PAIRS, PAIRS.values(), LINKS), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sets = {"1": load_set(str(files[0]), str(files[1]), str(files[2]), ("de", "en"), "spacy")}
    indexes = {"1": index.build(translator, list(PAIRS.items())[:5])}
    models = {"1": ("bundled", translator), "2": ("bundled, greedy", greedy)}
    with served(models, indexes=indexes, sets=sets, runs=runs_folder) as address:
        yield address


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

    def open_it(place: str = "", at: str = address, words: bool = False, **options: object) -> Page:
        """The page with EXAMPLE and with tokens as they are, unless `place` or `words` says otherwise."""
        defaults = [] if at != address or "text=" in place else [f"text={EXAMPLE}"]
        defaults += [] if words or "words=" in place else ["words=0"]
        place = "#" + "&".join([place.removeprefix("#"), *defaults])
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
    """`keep(page, NAME)`: a screenshot of whole words in the folder that NMT_SCREENSHOTS names, if any."""

    def keep_it(page: Page, name: str) -> None:
        if "NMT_SCREENSHOTS" not in os.environ:
            return
        words, size = page.get_by_label("whole words"), page.viewport_size
        assert size is not None
        joins = not (page.locator("dialog[open]").count() or words.is_checked())  # as people see it first
        words.check() if joins else None
        whole = page.evaluate("document.documentElement.scrollHeight")  # what lies over it covers the window alone
        page.set_viewport_size({"width": size["width"], "height": max(whole, size["height"])})
        page.wait_for_timeout(300)  # transitions
        page.screenshot(full_page=True, path=Path(os.environ["NMT_SCREENSHOTS"]) / f"serve_{name}.png")
        page.set_viewport_size(size)
        words.uncheck() if joins else None

    return keep_it
