"""Placeholders and tags that one side has and the other lacks. The patterns are those of `nmt.constraints`."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

from nmt import addons
from nmt.clean.settings import Settings

_MAYBE = re.compile(r"[%{$<]")
_POSITION = re.compile(r"\d+\$")  # of an argument, as in %2$s: other languages have another order
ALONE = ("br", "hr", "img")  # elements without a closing tag


@cache
def _patterns() -> tuple[Any, Any]:
    return addons.offered("protected_spans"), addons.offered("tags")


def available() -> bool:
    """Whether the add-on with the patterns is installed."""
    return None not in _patterns()


def placeholders(source: str, target: str, _: Settings) -> str:
    """Spans such as %s, {name} or $(ARG), and closing tags, whatever their order, that differ.

    Opening tags do not count: `<file>` may be a word to translate.
    """
    if not (_MAYBE.search(source) or _MAYBE.search(target)):
        return ""
    one, other = _spans(source), _spans(target)
    missing, new = (one - other).elements(), (other - one).elements()
    return f"{' '.join(missing) or '–'} / {' '.join(new) or '–'}" if one != other else ""


def _spans(text: str) -> Counter[str]:
    protect, tags = _patterns()
    spans = Counter(_POSITION.sub("", text[a:b]) for a, b in protect.spans(text, protect.compiled(("placeholders",))))
    if "<" in text:
        tokens = [token for token in tags.tokens_of(text) if token.kind == "close" or token.name in ALONE]
        spans += Counter(f"</{token.name}>" if token.kind == "close" else f"<{token.name}>" for token in tokens)
    return spans
