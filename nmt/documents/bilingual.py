"""What formats with two languages share: codes of languages, and targets that are filled from sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nmt.documents.inline import Piece, Style, segment_of
from nmt.documents.segments import Segment
from nmt.system.errors import UserError
from nmt.text.language import base_language


def is_language(code: str, language: str) -> bool:
    """Whether a code, such as de-AT, means a language, such as de."""
    return bool(language) and base_language(code) == base_language(language)


def space_before(document: str, position: int) -> str:
    """The white space that ends there."""
    start = position
    while start and document[start - 1].isspace():
        start -= 1
    return document[start:position]


def check_language(what: str, code: str, language: str) -> None:
    """Raise `UserError` if a document declares another language than the model has."""
    if code.strip() and language and not is_language(code, language):
        raise UserError(
            f"{what} is {code.strip()}, and the model's language is {language}: take a model of that language"
        )


def filled(
    document: str,
    span: tuple[int, int],
    source: tuple[int, int],
    pieces: Iterable[Piece],
    style: Style,
    write: Callable[[str], str],
) -> Segment:
    """A segment that puts into `span` what `write` makes of a translated copy of `source`, of which there are pieces.

    A source without letters is copied.
    """
    for segment in segment_of(document, pieces, style):

        def new(translation: str, _: object, segment: Segment = segment) -> str:
            before, after = document[source[0] : segment.start], document[segment.end : source[1]]
            return write(before + segment.write(translation, lambda start, end: document[start:end]) + after)

        return Segment(*span, segment.text, new, segment.has_tags)
    return Segment(*span, "", lambda *_: write(document[slice(*source)]))
