"""Word's .docx: the paragraphs of the body, headers, footers and notes. All other members of the ZIP are kept."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence

from nmt.documents import xml
from nmt.documents.inline import decoded
from nmt.documents.paragraphs import Paragraph
from nmt.documents.segments import Segment
from nmt.system.errors import UserError

_MEMBERS = re.compile(r"word/(?:document|(?:header|footer)\d*|footnotes|endnotes)\.xml")
_MOST_MEMBERS = 10_000


def opened(content: bytes, limit: int) -> tuple[tuple[str, ...], Callable[[Sequence[str]], bytes]]:
    """The texts of a file's XML, and what writes the file with new ones.

    Raises `UserError` for what is no .docx, and if it would have more than `limit` bytes without compression.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > limit or len(members) > _MOST_MEMBERS:
                raise UserError(f"it has more than {limit:,} bytes without compression: it may be a bomb; split it")
            contents = [archive.read(member) for member in members]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, zlib.error) as error:
        raise UserError(f"it is no .docx ({error}): save it anew as a Word document") from None
    numbers = [n for n, member in enumerate(members) if _MEMBERS.fullmatch(member.filename)]
    if "word/document.xml" not in {member.filename for member in members}:
        raise UserError("it has no word/document.xml: save it anew as a Word document (.docx)")
    texts = [decoded(contents[n]) for n in numbers]

    def write(new: Sequence[str]) -> bytes:
        changed = {n: mark + text.encode() for n, (mark, _), text in zip(numbers, texts, new, strict=True)}
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for n, member in enumerate(members):
                archive.writestr(member, changed.get(n, contents[n]))
        return file.getvalue()

    return tuple(text for _, text in texts), write


def segments(document: str, _: tuple[str, str]) -> list[Segment]:
    """The paragraphs of a member."""
    paragraphs = (Paragraph(document, element) for element in xml.parse(document).all("p"))
    return [segment for paragraph in paragraphs for segment in paragraph.segments()]
