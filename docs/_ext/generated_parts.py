"""Parts of the reference that are made from the code at build: `<!-- generated: NAME -->` in a page becomes Markdown.

Nothing here needs Sphinx, so that tests can make the same parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import attention_table
import command_line
import config_reference
import demo_link

PARTS: dict[str, Callable[[], str]] = {
    "command-line": command_line.markdown,
    "config": config_reference.markdown,
    "demo": demo_link.markdown,
    "scores": attention_table.scores,
    "scopes": attention_table.scopes,
}
MARK = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)


def filled(text: str) -> str:
    """A page's Markdown with its generated parts in the place of their marks."""
    return MARK.sub(lambda mark: PARTS[mark[1]](), text)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", _always_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Any, page: str, content: list[str]) -> None:
    if MARK.search(content[0]):
        content[0] = filled(content[0])


def _always_read(app: Any, env: Any, *changes: set[str]) -> list[str]:
    """The pages with generated parts: the code that these are made from may have changed."""
    pages = (page for page in env.found_docs if env.doc2path(page).suffix == ".md")
    return [page for page in pages if MARK.search(env.doc2path(page).read_text(encoding="utf-8"))]
