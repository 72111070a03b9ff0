"""Relative links in Markdown files outside `docs/` lead to what exists; the documentation's build checks the others."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md")]
PAGES += [page for folder in ("checkpoints", "data/sample") for page in (ROOT / folder).glob("**/README.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts and Sphinx make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        assert path.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(path), link


def test_the_main_pages_are_checked() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= {page.name for page in PAGES}
    assert len(PAGES) >= 6
