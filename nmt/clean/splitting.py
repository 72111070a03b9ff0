"""Training, validation and test sets from one pair of files.

Pairs that share a sentence on either side, directly or through other pairs, are a group, and no group is in two sets.
Hashes of its pairs and the seed decide which set a group belongs to: the same on every machine, wherever the pairs
stand in the files. Sentences are equal whatever their case and spacing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.data.splits import SPLITS
from nmt.system.errors import UserError
from nmt.system.files import replace_atomically, require_new
from nmt.text.corpus import check_pairs, comparable, iterate_lines

_HASHES = [(name, np.uint64) for name in ("pair", "source", "target")]


def split(
    paths: tuple[Path, Path], folder: Path, languages: tuple[str, str], *, validation: int, test: int, seed: int
) -> Counter[str]:
    """Write `train`, `validation` and `test`, each with the ending of its language, into the folder.

    The validation and test sets have as many pairs as asked for, all different, of groups drawn at random that are not
    larger than such a set; all others are for training. The order is that of the files. Returns the numbers of pairs in
    each set, of those that `moved` to the validation and test sets because of another pair of their group, and of those
    left out: with an `empty` side, further `copies` of validation and test pairs, and the rest of a group whose set is
    full (`surplus`).

    Raises `UserError` if the files cannot be read or do not fit each other, if they have too few pairs, or if the
    folder already has such files.
    """
    outputs = {name: (folder / f"{name}.{languages[0]}", folder / f"{name}.{languages[1]}") for name in SPLITS}
    for path in chain.from_iterable(outputs.values()):
        require_new(path)
    check_pairs(*paths)
    hashes = np.fromiter((row for row, _ in _hashed_pairs(paths, seed) if row is not None), dtype=_HASHES)
    hashes = hashes[np.unique(hashes["pair"], return_index=True)[1]]
    sizes = {"test": test, "validation": validation}
    drawn = _draw(hashes, sizes)
    if drawn is None:
        few = f"{len(hashes)} different pairs, too few for {validation} validation and {test} test pairs"
        raise UserError(f"{paths[0]} and {paths[1]} have {few} that share no sentence: lower --validation or --test")
    sets, moved = drawn
    counts = Counter(moved=moved)
    with ExitStack() as stack:
        files = {n: [stack.enter_context(replace_atomically(path)) for path in pair] for n, pair in outputs.items()}
        for row, lines in _hashed_pairs(paths, seed):
            name = "empty" if row is None else sets.get(row[0], "train")
            counts[name] += 1
            if row is not None and name in ("validation", "test"):
                sets[row[0]] = "copies"
            for file, line in zip(files.get(name, ()), lines, strict=False):
                file.write(f"{line}\n".encode())
    return counts


def _draw(hashes: NDArray[Any], sizes: Mapping[str, int]) -> tuple[dict[int, str], int] | None:
    """The sets of different pairs that are not for training, by their hashes, and how many of them were moved.

    A group's place in the order does not depend on its size. None if there are too few small groups.
    """
    groups = _groups([np.unique(hashes[side], return_inverse=True)[1] for side in ("source", "target")])
    draw = np.zeros(len(hashes), dtype=np.uint64)
    np.bitwise_xor.at(draw, groups, hashes["pair"])
    is_small = np.bincount(groups, minlength=len(groups))[groups] <= min(sizes.values())
    order = np.lexsort((groups, draw[groups]))
    order = order[is_small[order]]
    sets: dict[int, str] = {}
    moved = begin = 0
    for name, size in sizes.items():
        end = begin + size
        if end > len(order):
            return None
        rest = end + int(np.sum(groups[order[end:]] == groups[order[end - 1]]))
        pairs = hashes["pair"][order[begin:rest]].tolist()
        sets |= dict.fromkeys(pairs[:size], name) | dict.fromkeys(pairs[size:], "surplus")
        moved += size - len(np.unique(groups[order[begin:end]]))
        begin = rest
    return (sets, moved) if len(sets) < len(hashes) else None


def _groups(sides: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Of each pair the index of its group's first pair. The sides are the numbers of their sentences."""
    groups = np.arange(len(sides[0]))
    last = np.zeros_like(groups)
    while not np.array_equal(groups, last):
        last = groups
        for side in sides:
            least = np.full(len(side), len(side))
            np.minimum.at(least, side, groups)
            joined = least[side]
            np.minimum.at(joined, groups, least[side])  # and the group's first pair follows: chains take few rounds
            groups = joined[joined]
    return groups


def _hashed_pairs(paths: tuple[Path, Path], seed: int) -> Iterator[tuple[tuple[int, ...] | None, tuple[str, ...]]]:
    """Each pair of lines with hashes of it and the seed, and of its sides; None if a side is empty."""
    for pair in zip(*map(iterate_lines, paths), strict=True):
        source, target = map(comparable, pair)
        digests = (
            hashlib.blake2b(text.encode(), digest_size=8).digest()
            for text in (f"{seed}\n{source}\n{target}", source, target)
        )
        yield (tuple(int.from_bytes(digest, "big") for digest in digests) if source and target else None), pair
