"""Where `nmt translate` takes its sentences from, in blocks that are translated together."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Sequence

from nmt.system.errors import UserError
from nmt.text.corpus import LONGEST_LINE

BLOCK = 512  # sentences: enough to batch well, few enough to see results soon
_CHUNK = 1 << 16  # bytes: as much as a pipe holds


def in_blocks(sentences: Sequence[str], first: int = 0) -> Iterator[list[str]]:
    """The sentences from number `first` on, `BLOCK` at a time."""
    for start in range(first, len(sentences), BLOCK):
        yield list(sentences[start : start + BLOCK])


def prompt_blocks() -> Iterator[list[str]]:
    """Sentences typed at a prompt, one per block."""
    print("Type a sentence, then Enter. Ctrl-D ends.", file=sys.stderr)
    while True:
        print("> ", end="", file=sys.stderr, flush=True)  # not by input(), which may write it among the translations
        try:
            yield [input()]
        except EOFError:
            print(file=sys.stderr)
            return


def stream_blocks(descriptor: int, patience: float | None = None) -> Iterator[list[str]]:
    """The lines of an open file as they arrive: each block has those that are available, 1 to `BLOCK`.

    So a line is translated as soon as it can be, and the lines of a fast writer still share blocks. With `patience`, an
    empty block says that nothing has arrived for that many seconds.

    Raises `UserError` for a line that is not valid UTF-8, and for one that is too long.
    """
    number = 0
    for block in _line_blocks(descriptor, patience):
        sentences = []
        for line in block:
            number += 1
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise UserError(f"standard input, line {number}: not valid UTF-8 text; convert it to UTF-8") from None
            sentences.append(text.removesuffix("\r"))
        yield sentences


def _line_blocks(descriptor: int, patience: float | None) -> Iterator[list[bytes]]:
    """Lines end at "\\n" alone, as in a text file."""
    lines: list[bytes] = []
    partial: list[bytes] = []  # pieces of a line whose end has not arrived
    at_end = False
    while lines or not at_end:
        while not at_end and len(lines) < BLOCK and _is_readable(descriptor, 0 if lines else patience):
            try:
                chunk = os.read(descriptor, _CHUNK)
            except OSError as error:  # as nohup has it
                raise UserError(
                    f"standard input cannot be read ({error.strerror}): give TEXT or --input FILE"
                ) from None
            at_end = not chunk
            head, *rest = chunk.split(b"\n")
            partial.append(head)
            if sum(map(len, partial)) > LONGEST_LINE:
                raise UserError(
                    f"standard input: a line of more than {LONGEST_LINE:,} bytes: give one sentence per line"
                )
            if rest:
                lines += [b"".join(partial), *rest[:-1]]
                partial = rest[-1:]
            elif at_end and any(partial):
                lines.append(b"".join(partial))
        if lines or not at_end:
            yield lines[:BLOCK]
            lines = lines[BLOCK:]


def _is_readable(descriptor: int, seconds: float | None) -> bool:
    """Whether data or the end arrives within some seconds (None: wait for it)."""
    return bool(select.select([descriptor], [], [], seconds)[0])
