"""The ways to the pages that run in the browser, in documents that are built with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MARK = "<!-- demo link -->"
PLAYGROUND = "<!-- playground link -->"

PAGE = Path(__file__).resolve().parents[2] / "build" / "demo" / "index.html"  # `make docs` copies its folder
LINK = """<p class="try"><a href="demo/index.html">Try it in your browser</a> Type a German caption, and watch the model
translate it: here, without a server. It loads {size:.0f} MB once, and then works without a network, too.</p>
"""
TRAIN = """<p class="try"><a href="../playground/index.html">Train in your browser</a> Nothing is installed, and nothing
leaves your machine.</p>
"""  # `make docs` writes it


def markdown() -> str:
    """A prominent link, or nothing where the page is not built."""
    if not PAGE.is_file():
        return ""
    return LINK.format(size=sum(file.stat().st_size for file in PAGE.parent.rglob("*") if file.is_file()) / 1e6)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", _always_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Any, page: str, content: list[str]) -> None:
    content[0] = content[0].replace(MARK, markdown()).replace(PLAYGROUND, TRAIN)


def _always_read(app: Any, env: Any, *changes: set[str]) -> list[str]:
    """The index, which has the link: the page may have been built or removed since."""
    return ["index"]
