"""What every view of the page has to hold, and what it saves."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from playwright.sync_api import Locator, Page

from nmt.training.event_log import EventLog

Opener = Callable[..., Page]
Keeper = Callable[[Page, str], None]
AXE = (Path(__file__).parents[1] / "browser" / "vendor" / "axe-core-4.14.1.min.js").read_text(encoding="utf-8")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
}
EXAMPLE = "Ein Hund läuft über die Wiese."
PAIRS = {  # of the test set and the index
    EXAMPLE: "A dog runs across the meadow.",
    "Zwei Männer spielen Fußball.": "Two men play soccer.",
    "Eine Frau mit einem roten Hut steht am Strand.": "A woman with a red hat is standing on the beach.",
    "Ein Junge springt.": "A boy jumps.",
    "Zwei Mädchen in blauen Kleidern sitzen auf einer Bank im Park und essen Eis.": "Two girls in blue dresses sit.",
    "Ein <b>Mann</b> liest.": "A man reads.",
}
LINKS = ["0-0 1-1 2-2 3?3 4?4 5-5", "0-0 1-1 2-2 3-3", "0-0 1-1", "0-0 1-1 2-2", "0-0 1-1", "0-0"]
RUNS = {"sweep/luong": "local_p", "sweep/bahdanau": "global"}  # their scopes


def examples(words: str) -> list[dict[str, str]]:
    return [{"source": "Ein Hund läuft.", "reference": "A dog runs.", "hypothesis": f"a dog {words}"}]


def measure(log: EventLog, updates: range, better: float) -> None:
    """Write what a run measures."""
    for update in updates:
        loss, rate = 1.5 + 5 * math.exp(-update / 250) - better, 0.001 * min(1, update / 300)
        speed = 3000 + 500 * better + 40 * math.sin(update)
        log.write("train", update, 1, loss=loss, learning_rate=rate, target_tokens_per_second=speed)
        if update % 200 == 0:
            hypotheses = examples(f"runs {update}")
            log.write("validation", update, 1, loss=loss + 0.3, bleu=40 - 7 * loss, examples=hypotheses)


def said(page: Page) -> str:
    """The translation as it stands on the page."""
    return " ".join(page.locator("#said").inner_text().split())


def labels(tokens: list[str]) -> str:
    """The same of a translation's tokens: behind the mark of a capital a word has one."""
    shown = [{"<eos>": "(end)"}.get(token, token.replace("▁", "") or "␣") for token in tokens]
    return " ".join(
        text.capitalize() if before == "⇧" else text for before, text in zip(["", *shown], shown, strict=False)
    )


def assert_in_nobodys_way(page: Page) -> None:
    """axe-core finds nothing, and nothing is wider than the screen."""
    page.evaluate(AXE)
    violations = page.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
    assert violations == [], violations
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def saved_words(page: Page, place: str = "#panel") -> set[str]:
    """The words of the picture that the view saves as SVG, once it was also saved as PNG."""
    with page.expect_download() as download:
        page.locator(place).get_by_role("button", name="Save PNG").click()
    picture = Path(download.value.path()).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 3000  # of something drawn
    with page.expect_download() as download:
        page.locator(place).get_by_role("button", name="Save SVG").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert "var(" not in text
    elements = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
    return {word for element in elements for word in (element.text or "").split()}


def cells(table: Locator) -> list[list[str]]:
    """The text of a table, row by row."""
    return [[cell.inner_text().strip() for cell in row.locator("th, td").all()] for row in table.locator("tr").all()]
