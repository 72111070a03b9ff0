"""The way to the page that translates in the browser, in documents that are built with it."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "build" / "demo" / "index.html"  # `make docs` copies its folder
LINK = """<p class="try"><a href="demo/index.html">Try it in your browser</a> Type a German caption, and watch the model
translate it: here, without a server. It loads {size:.0f} MB once, and then works without a network, too.</p>
"""


def markdown() -> str:
    """A prominent link, or nothing where the page is not built."""
    if not PAGE.is_file():
        return ""
    return LINK.format(size=sum(file.stat().st_size for file in PAGE.parent.rglob("*") if file.is_file()) / 1e6)
