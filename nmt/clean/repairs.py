"""What changes a pair: text that was decoded wrongly, and pairs of several lines."""

from __future__ import annotations

import re
from typing import Any

from nmt.system.errors import UserError
from nmt.text.corpus import LINE_END, comparable

LOST = "\ufffd"
_MARKS = re.compile(r"""[.!?:;…。！？]["'”“’»)\]]*\s*$""")  # of a line that ends as a sentence or clause does


def import_ftfy() -> Any:
    """The package. Raises `UserError` if it is not installed."""
    try:
        import ftfy
    except ModuleNotFoundError as error:
        install = "run pip install -e '.[clean]' in the folder of nmt"
        raise UserError(f"nmt clean needs {error.name}: {install}, or add --skip mojibake") from None
    return ftfy


def mended(text: str) -> str:
    """The text with UTF-8 that was read as another encoding as it was meant: "Ã¼" is "ü". Other text stays."""
    if text.isascii():
        return text
    fixed: str = import_ftfy().fix_encoding(text)
    return fixed.replace("\n", LINE_END) if fixed != text else text


def lost(source: str, target: str) -> str:
    return "a character was lost (U+FFFD)" if LOST in source or LOST in target else ""


def split_lines(source: str, target: str) -> list[tuple[str, str]]:
    """The pairs of lines of a pair, if both sides have as many, empty ones in the same places, and each line ends a
    sentence or clause or stands before an empty one. Otherwise the pair: lines that were only wrapped do not match.
    """
    sides = [text.split(LINE_END) for text in (source, target)]
    if len(sides[0]) != len(sides[1]) or len(sides[0]) == 1:
        return [(source, target)]
    filled = [[bool(comparable(line)) for line in side] for side in sides]
    if filled[0] != filled[1] or not any(filled[0]):
        return [(source, target)]
    last = max(i for i, has_text in enumerate(filled[0]) if has_text)
    for i in range(last):
        is_open = any(not _MARKS.search(side[i]) for side in sides)
        if filled[0][i] and filled[0][i + 1] and is_open:
            return [(source, target)]
    return [(one.strip(), other.strip()) for one, other, has_text in zip(*sides, filled[0], strict=True) if has_text]
