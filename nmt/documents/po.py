"""PO files of gettext: empty `msgstr` are filled and marked `fuzzy`, so that a translator looks at them.

The first plural form is a translation of `msgid`, the others are of `msgid_plural`. All else is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from nmt.documents.bilingual import check_language
from nmt.documents.segments import Render, Segment, insertion
from nmt.system.errors import UserError

_STRING = r'"(?:\\.|[^"\\\n])*"'
_KEYWORD = re.compile(
    rf"(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)[ \t]*({_STRING}(?:\s*\n[ \t]*{_STRING})*)[ \t]*"
)
_COMMENT = re.compile(r"#[^\n]*\n?")
_ESCAPE = re.compile(r"(?P<bytes>(?:\\[0-7]{3}|\\x[0-9a-fA-F]{2})+)|\\(?P<letter>.)")
_CONTROL = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_WRITTEN = {"\\": "\\\\", '"': '\\"'} | {text: f"\\{letter}" for letter, text in _CONTROL.items()}
_LANGUAGE = re.compile(r"^Language:[ \t]*(\S+)", re.MULTILINE)


@dataclass
class _Entry:
    """A message: where its first keyword and its comments are, and the spans of its strings by keyword."""

    start: int
    comments: list[tuple[int, int]]
    strings: dict[str, tuple[int, int]] = field(default_factory=dict)


def segments(document: str, languages: tuple[str, str]) -> list[Segment]:
    """The messages of a PO file that have no translation. Raises `UserError` for lines that are no PO."""
    result: list[Segment] = []
    line_end = "\r\n" if "\r\n" in document else "\n"
    for entry in _entries(document):
        texts = {name: _decoded(document[slice(*span)]) for name, span in entry.strings.items()}
        forms = [name for name in texts if name.startswith("msgstr")]
        if not texts.get("msgid"):
            if declared := _LANGUAGE.search(texts.get("msgstr", "")):
                check_language("the header's Language", declared[1], languages[1])
            continue
        empty = [name for name in forms if not texts[name]]
        for name in empty:
            is_plural = "msgid_plural" in texts and not (name == "msgstr[0]" and len(forms) > 1)
            result.append(_segment(entry.strings[name], texts["msgid_plural" if is_plural else "msgid"]))
        if empty:
            result += _fuzzy(document, entry, line_end)
    return result


def _entries(document: str) -> Iterator[_Entry]:
    position, comments, entry = 0, [], None
    while position < len(document):
        if document[position].isspace():
            position += 1
        elif comment := _COMMENT.match(document, position):
            comments.append(comment.span())
            position = comment.end()
        elif string := _KEYWORD.match(document, position):
            if entry is None or (string[1] in ("msgctxt", "msgid") and "msgid" in entry.strings):
                if entry is not None:
                    yield entry
                entry, comments = _Entry(position, comments), []
            entry.strings[string[1]] = string.span(2)
            position = string.end()
        else:
            line = document.count("\n", 0, position) + 1
            raise UserError(
                f'line {line}: not a comment nor a keyword of PO with a text in quotes, such as msgid "Open"'
            )
    if entry is not None:
        yield entry


def _segment(span: tuple[int, int], source: str) -> Segment:
    text = source.strip()
    start = len(source) - len(source.lstrip())

    def write(translation: str, _: Render) -> str:
        return _quoted(source[:start] + translation + source[start + len(text) :])

    if not any(map(str.isalpha, text)):
        return Segment(*span, "", lambda *_: _quoted(source))
    return Segment(*span, text, write)


def _fuzzy(document: str, entry: _Entry, line_end: str) -> Iterator[Segment]:
    """What marks an entry as `fuzzy`, unless it is."""
    flags = [start for start, _ in entry.comments if document.startswith("#,", start)]
    if any("fuzzy" in document[start:end] for start, end in entry.comments if start in flags):
        return
    if flags:
        yield insertion(flags[0] + 2, " fuzzy,")
        return
    previous = [start for start, _ in entry.comments if document.startswith("#|", start)]
    yield insertion(previous[0] if previous else entry.start, f"#, fuzzy{line_end}")


def _decoded(strings: str) -> str:
    """The text of quoted strings."""
    return "".join(_ESCAPE.sub(_character, string[1:-1]) for string in re.findall(_STRING, strings))


def _character(escape: re.Match[str]) -> str:
    if escape["bytes"]:
        numbers = (int(x, 8) if x[0] != "x" else int(x[1:], 16) for x in escape["bytes"][1:].split("\\"))
        return bytes(number & 255 for number in numbers).decode(errors="replace")
    return _CONTROL.get(escape["letter"], escape["letter"])


def _quoted(text: str) -> str:
    """A text as quoted strings, one for each of its lines."""
    lines = [line.translate(str.maketrans(_WRITTEN)) for line in re.findall(r"[^\n]*\n|[^\n]+", text)]
    strings = [f'"{line}"' for line in lines]
    return strings[0] if len(strings) == 1 else "\n".join(['""', *strings])
