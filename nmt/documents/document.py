"""Documents as bytes: which format reads which file, and what translates one.

content = translate_document(translator, path.read_bytes(), ".docx")
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import add
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from nmt.documents.inline import decoded, escaped, parts_of
from nmt.documents.segments import Segment, written
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from nmt.decoding.translation import Translation
    from nmt.translator import Translator

FORMATS = {
    ".txt": "txt",
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".html", ".htm"), "html"),
    ".po": "po",
    **dict.fromkeys((".xlf", ".xliff"), "xliff"),
    ".tmx": "tmx",
    **dict.fromkeys((".csv", ".tsv"), "table"),
    ".srt": "srt",
    ".docx": "docx",
}
PLAIN = ("txt", "po", "table")  # formats without markup of their own
BLOCK = 512  # texts that are translated together
_OBJECT = re.compile(r"<o(\d+)/>")  # code in a text, for which a model that was trained with masks reads one
_MASKED = re.compile(r"⟦(\d+)⟧")
Translations: TypeAlias = dict[tuple[str, bool], str]  # by text and `has_tags`
Report: TypeAlias = "Callable[[Sequence[str], Sequence[Translation]], object]"
BILINGUAL = ("xliff", "tmx", "table")  # whose texts cannot be read without the languages
LARGEST = 1 << 28  # bytes of a document, or of all that is compressed in it


@dataclass(frozen=True)
class Document:
    """The texts of a file with segments, of which a .docx has several, and `write`, which makes a file of new ones."""

    format: str
    texts: tuple[str, ...]
    write: Callable[[Sequence[str]], bytes]

    def segments(self, languages: tuple[str, str]) -> list[list[Segment]]:
        """The segments of each text, which are in the first language. Raises `UserError` for what is no such file."""
        return [_module(self.format).segments(text, languages) for text in self.texts]

    def sample(self) -> list[str]:
        """Text from which the language can be detected."""
        if self.format in BILINGUAL:
            return [self.texts[0][:10_000]]
        return [segment.text for group in self.segments(("", "")) for segment in group]


def format_of(ending: str) -> str:
    """The format of files with an ending, such as ".md". Raises `UserError` for other endings."""
    if ending.lower() not in FORMATS:
        raise UserError(
            f"documents that end in {ending or 'nothing'} are not supported: give one of {', '.join(FORMATS)}"
        )
    return FORMATS[ending.lower()]


def opened(content: bytes, ending: str) -> Document:
    """The document in a file with this content. Raises `UserError` if it is too large, or no UTF-8."""
    name = format_of(ending)
    if len(content) > LARGEST:
        raise UserError(f"it has {len(content):,} bytes, and {LARGEST:,} are the limit: split it")
    if name == "docx":
        return Document(name, *_module(name).opened(content, LARGEST))
    mark, text = decoded(content)
    return Document(name, (text,), lambda texts: mark + texts[0].encode())


def translate_document(translator: Translator, content: bytes, ending: str, **options: Any) -> bytes:
    """A document with translated text. `ending` is that of its name, `options` are those of `Translator.translate`.

    Raises `UserError` for a document that cannot be read, and as `translate` does.
    """
    document = opened(content, ending)
    segments = document.segments(translator.languages)
    return finished(document, segments, translations_of(translator, segments, **options))


def different(segments: Sequence[Sequence[Segment]]) -> list[tuple[str, bool]]:
    """Each text of segments once, with `has_tags`."""
    return list(dict.fromkeys((s.text, s.has_tags) for group in segments for s in group if s.text))


def translations_of(
    translator: Translator, segments: Sequence[Sequence[Segment]], report: Report = lambda *_: None, **options: Any
) -> Translations:
    """The translation of each different text. `report` gets texts and their translations, some at a time."""
    translations: Translations = {}
    for has_tags in (False, True):
        texts = [text for text, tagged in different(segments) if tagged == has_tags]
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            new = _translated(translator, block, has_tags, report, options)
            translations |= zip([(text, has_tags) for text in block], new, strict=True)
    return translations


def finished(document: Document, segments: Sequence[Sequence[Segment]], translations: Translations) -> bytes:
    """The file with the translations of texts."""
    groups = zip(document.texts, segments, strict=True)
    new = [written(text, group, [translations.get((s.text, s.has_tags), "") for s in group]) for text, group in groups]
    return document.write(new)


def _translated(
    translator: Translator, texts: list[str], has_tags: bool, report: Report, options: dict[str, Any]
) -> list[str]:
    """The translations of texts."""

    def translate(texts: list[str], **more: Any) -> list[str]:
        translations = translator.translate(texts, **{**options, **more}) if texts else []
        report(texts, translations)
        return [translation.text for translation in translations]

    if not has_tags:
        return translate(texts)
    if "markup" not in inspect.signature(translator.translate).parameters:
        return _in_parts(texts, translate)
    if not getattr(translator, "protect", None) or options.get("protect") is False:
        return translate(texts, markup=True)
    masked = [_OBJECT.sub(r"⟦\1⟧", text) for text in texts]
    new = translate(masked, markup=True, protect=[*(options.get("protect") or ()), _MASKED.pattern])
    results = [_MASKED.sub(r"<o\1/>", text) for text in new]
    objects = [[sorted(_OBJECT.findall(text)) for text in some] for some in (texts, results)]
    lost = [n for n, (old, new_objects) in enumerate(zip(*objects, strict=True)) if old != new_objects]
    for n, text in zip(lost, translate([texts[n] for n in lost], markup=True), strict=True):
        results[n] = text
    return results


def _in_parts(texts: Sequence[str], translate: Callable[[list[str]], list[str]]) -> list[str]:
    """The translations of texts by a translator without `markup`: what is between tags is a text of its own."""
    parts = [parts_of(text) for text in texts]
    between = {piece.strip(): piece.strip() for pieces, _ in parts for piece in pieces}
    some = [text for text in between if any(map(str.isalpha, text))]
    new = between | dict(zip(some, translate(some), strict=True))
    edged = [[_edged(piece, new[piece.strip()]) for piece in pieces] for pieces, _ in parts]
    return ["".join(map(add, pieces, [*tags, ""])) for pieces, (_, tags) in zip(edged, parts, strict=True)]


def _edged(piece: str, translation: str) -> str:
    """A translation as XML, between the white space of its source."""
    start = len(piece) - len(piece.lstrip())
    return piece[:start] + escaped(translation) + piece[max(start, len(piece.rstrip())) :]


def _module(name: str) -> ModuleType:
    return import_module(f"nmt.documents.{name}")
