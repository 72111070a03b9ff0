"""Lines → tokens, in blocks of lines, on all cores: the part of preparing a text that takes long."""

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
    """The tokens of some lines, as indices into the block's distinct tokens, and the lines' text, if asked for."""

    entries: list[str]
    tokens: NDArray[np.int32]
    lengths: NDArray[np.int32]  # in tokens, of each line
    text: NDArray[np.uint8]  # UTF-8, one line after the other: what the tokens spell
    text_lengths: NDArray[np.int32]  # in bytes


def tokenize_block(tokenizer: Tokenizer, lines: list[str], with_text: bool) -> Block:
    sentences = [tokenizer.tokenize(line) for line in lines]
    indices: dict[str, int] = {}
    tokens = [indices.setdefault(token, len(indices)) for sentence in sentences for token in sentence]
    texts = [tokenizer.detokenize(sentence).encode() for sentence in sentences] if with_text else []
    return Block(
        list(indices),
        np.array(tokens, dtype=np.int32),
        np.array(list(map(len, sentences)), dtype=np.int32),
        np.frombuffer(b"".join(texts), dtype=np.uint8),
        np.array(list(map(len, texts)), dtype=np.int32),
    )


def tokenize_pairs(
    tokenizers: tuple[Tokenizer, Tokenizer], lines: tuple[Iterator[str], Iterator[str]], with_text: tuple[bool, bool]
) -> Iterator[tuple[Block, Block]]:
    """The blocks of two texts with equally many lines, in their order."""

    def jobs() -> Iterator[tuple[object, ...]]:
        while block := list(islice(lines[0], LINES)):
            yield tokenizers, (block, list(islice(lines[1], LINES))), with_text

    return map_in_processes(_tokenize_both, jobs())


def _tokenize_both(
    tokenizers: tuple[Tokenizer, Tokenizer], lines: tuple[list[str], list[str]], with_text: tuple[bool, bool]
) -> tuple[Block, Block]:
    source, target = map(tokenize_block, tokenizers, lines, with_text)
    return source, target
