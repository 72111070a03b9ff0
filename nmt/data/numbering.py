"""Lines → tokens → numbers, in blocks of lines, on all cores: the part of preparing a text that takes long."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.system.process_pool import map_in_processes
from nmt.text.tokenizers import Tokenizer

LINES = 50_000  # of a block: seconds of work, megabytes of memory


class Block(NamedTuple):
    """The tokens of some lines, as numbers of the types in it, and with them the lines' text, if it was asked for."""

    types: list[str]
    tokens: NDArray[np.int32]
    lengths: NDArray[np.int32]  # in tokens, of each line
    text: NDArray[np.uint8]  # UTF-8, one line after the other: what the tokens spell
    text_lengths: NDArray[np.int32]  # in bytes


def number(tokenizer: Tokenizer, lines: list[str], with_text: bool) -> Block:
    numbers: dict[str, int] = {}
    sentences = [tokenizer.tokenize(line) for line in lines]
    tokens = [numbers.setdefault(token, len(numbers)) for sentence in sentences for token in sentence]
    texts = [tokenizer.detokenize(sentence).encode() for sentence in sentences] if with_text else []
    return Block(
        list(numbers),
        np.array(tokens, dtype=np.int32),
        np.array([len(sentence) for sentence in sentences], dtype=np.int32),
        np.frombuffer(b"".join(texts), dtype=np.uint8),
        np.array([len(text) for text in texts], dtype=np.int32),
    )


def number_pairs(
    tokenizers: tuple[Tokenizer, Tokenizer], lines: tuple[Iterator[str], Iterator[str]], with_text: tuple[bool, bool]
) -> Iterator[tuple[Block, Block]]:
    """The blocks of two texts with equally many lines, in their order."""

    def jobs() -> Iterator[tuple[object, ...]]:
        while block := list(islice(lines[0], LINES)):
            yield tokenizers, (block, list(islice(lines[1], LINES))), with_text

    return map_in_processes(_number_both, jobs())


def _number_both(
    tokenizers: tuple[Tokenizer, Tokenizer], lines: tuple[list[str], list[str]], with_text: tuple[bool, bool]
) -> tuple[Block, Block]:
    source, target = (number(*side) for side in zip(tokenizers, lines, with_text, strict=True))
    return source, target
