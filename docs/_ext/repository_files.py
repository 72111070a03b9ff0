"""Links from the pages to files of the repository outside `docs/`, which read the same on a code host and here.

`[the score](../../nmt/model/attention.py)` leads to a page of the site that shows that file, or that folder's list of
files. A link to what does not exist is an error.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import relative_uri

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "files/"  # of the names of these pages
LARGEST = 200_000  # bytes of a file that is shown
INCLUDES = {"contributing", "changelog"}  # pages that show a file of the repository's root, whose links start there


class RepositoryLinks(SphinxTransform):
    """Turn links to files and folders outside `docs/` into links to their pages."""

    default_priority = 5  # before downloads are collected

    def apply(self, **options: Any) -> None:
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for node in list(self.document.findall(kind)):
                path = self._outside(node)
                if path is not None:
                    name = PREFIX + path
                    uri = relative_uri(self.env.app.builder.get_target_uri(self.env.docname), f"{name}.html")
                    link = nodes.reference("", "", *node.children, refuri=uri, internal=True)
                    node.replace_self(link)
                    self.env.linked_files = {*getattr(self.env, "linked_files", ()), path}

    def _outside(self, node: nodes.Element) -> str | None:
        """The path, from the repository's root, that a link to a file or folder outside `docs/` means."""
        target = node.get("reftarget", "").partition("#")[0]
        if not target or "://" in target:
            return None
        if isinstance(node, addnodes.pending_xref) and node.get("refdomain") not in (None, "", "doc"):
            return None
        folder = Path(self.env.doc2path(self.env.docname)).parent
        path = Path(os.path.normpath(folder / target))
        if self.env.docname in INCLUDES and not path.exists():
            path = ROOT / target
        if node.get("refdomain") == "doc":  # a Markdown file, without its ending, from `docs/`
            path = Path(os.path.normpath(Path(self.env.srcdir, f"{target}.md")))
        if not path.exists() or path.is_relative_to(self.env.srcdir) or not path.is_relative_to(ROOT):
            return None
        return path.relative_to(ROOT).as_posix()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(RepositoryLinks)
    app.connect("missing-reference", _module_page)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def _module_page(app: Sphinx, env: Any, node: addnodes.pending_xref, text: nodes.Node) -> nodes.reference | None:
    """For a name of nmt that no page documents, such as a class in a signature: the page of its module's file."""
    parts = node.get("reftarget", "").split(".")
    for end in range(len(parts), 1, -1):
        path = "/".join(parts[:end]) + ".py"
        if parts[0] == "nmt" and (ROOT / path).is_file():
            env.linked_files = {*getattr(env, "linked_files", ()), path}
            uri = relative_uri(app.builder.get_target_uri(node["refdoc"]), f"{PREFIX}{path}.html")
            return nodes.reference("", "", text, refuri=uri, internal=True)
    return None


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each linked file or folder, and for what is in such a folder."""
    pending, done = sorted(getattr(app.env, "linked_files", ())), set()
    while pending:
        path = pending.pop()
        if path in done:
            continue
        done.add(path)
        place = ROOT / path
        if place.is_dir():
            inside = sorted(child.name for child in place.iterdir() if not child.name.startswith((".", "__")))
            pending += [f"{path}/{name}" for name in inside]
            last = path.rsplit("/", 1)[-1]
            body = "<ul>" + "".join(
                f'<li><a href="{last}/{html.escape(name)}.html">{html.escape(name)}</a></li>' for name in inside
            )
            body += "</ul>"
        else:
            body = _shown(place)
        yield PREFIX + path, {"title": path, "body": f"<h1>{html.escape(path)}</h1>{body}"}, "page.html"


def _shown(file: Path) -> str:
    """A file's text with its syntax highlighted, or its size where it is no text to read."""
    data = file.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is None or len(data) > LARGEST:
        return f"<p>{len(data):,} bytes, not shown here.</p>"
    try:
        lexer = get_lexer_for_filename(file.name)
    except ClassNotFound:
        lexer = TextLexer()
    return str(highlight(text, lexer, HtmlFormatter(cssclass="highlight", wrapcode=True)))
