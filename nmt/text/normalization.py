"""One form for what looks the same: characters in Unicode's form NFC, without those that nobody sees.

This file imports nothing of nmt: exported models carry a copy of it.
"""

from __future__ import annotations

import re
import unicodedata

# What joins or parts the letters of these scripts, and the parts of emoji, is written: Arabic to Burmese, Khmer to
# Balinese, further Indic ones. Elsewhere the same characters only say where a line may end.
_JOINING = "\u0600-\u109f\u1700-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
_EMOJI = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_JOINERS = f"(?<![{_JOINING}{_EMOJI}])[\u200b-\u200d](?![{_JOINING}{_EMOJI}])"
_MARKS = "\xad\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # of hyphenation, direction and byte order
_INVISIBLE = re.compile(f"{_JOINERS}|[{_MARKS}\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")


def normalized(text: str) -> str:
    """The text in NFC, without soft hyphens, joiners that join nothing, marks of direction, and control characters."""
    if not text.isprintable():
        text = _INVISIBLE.sub("", text)
    return unicodedata.normalize("NFC", text)
