"""Lines → tokens, in blocks of pairs, on all cores: the part of preparing a text that takes long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice, starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.system.process_pool import map_in_processes
from nmt.text.codec import Codec

LINES = 50_000  # of a block: seconds of work, megabytes of memory


class TokenizedSide(NamedTuple):
    """One side of a block's usable pairs."""

    counts: Counter[str]  # the distinct tokens, and how often each occurs
    tokens: NDArray[np.int32]  # as indices into `counts`
    lengths: NDArray[np.int32]  # in tokens


class Block(NamedTuple):
    """The usable pairs of some lines of a file, and how many others they have."""

    file: int
    sides: list[TokenizedSide]
    empty: int  # pairs without a token on one side
    too_long: int


def tokenize_pairs(
    codecs: list[Codec], max_length: int, files: Iterable[tuple[Iterator[str], Iterator[str]]], count: int
) -> Iterator[Block]:
    """The blocks of files with `count` lines, in order. Pairs have 1 to `max_length` tokens. Few take one process."""

    def jobs() -> Iterator[tuple[list[Codec], int, int, list[list[str]]]]:
        for number, (source, target) in enumerate(files):
            while lines := list(islice(source, LINES)):
                yield codecs, max_length, number, [lines, list(islice(target, LINES))]

    return map_in_processes(_tokenize_block, jobs()) if count > LINES else starmap(_tokenize_block, jobs())


def _tokenize_block(codecs: list[Codec], max_length: int, file: int, lines: list[list[str]]) -> Block:
    sides = [[one.tokenize(line) for line in side] for one, side in zip(codecs, lines, strict=True)]
    full = [pair for pair in zip(*sides, strict=True) if all(pair)]
    usable = [pair for pair in full if max(map(len, pair)) <= max_length]
    tokenized = [_with_indices([pair[side] for pair in usable]) for side in (0, 1)]
    return Block(file, tokenized, len(lines[0]) - len(full), len(full) - len(usable))


def _with_indices(sentences: list[list[str]]) -> TokenizedSide:
    counts = Counter(chain.from_iterable(sentences))
    index = {token: number for number, token in enumerate(counts)}
    tokens = [index[token] for sentence in sentences for token in sentence]
    return TokenizedSide(counts, np.array(tokens, dtype=np.int32), np.array([*map(len, sentences)], dtype=np.int32))
