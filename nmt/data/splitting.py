"""Training, validation and test sets from one pair of files.

Which set a pair belongs to is decided by a hash of its text and the seed: the same on every machine, wherever the pair
stands in the files. All copies of a pair, whatever their case and spacing, therefore belong to one set.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt.data.splits import SPLITS
from nmt.system.errors import UserError
from nmt.system.files import replace_atomically, require_new
from nmt.text.corpus import check_pairs, iterate_lines


class Split(NamedTuple):
    """What `split` has written: the files of each set, source and target, and the numbers of pairs."""

    paths: dict[str, tuple[Path, Path]]
    pairs: dict[str, int]
    empty: int
    """Pairs left out because a side was empty."""
    copies: int
    """Further copies of validation and test pairs, left out."""


def split(
    paths: tuple[Path, Path], folder: Path, languages: tuple[str, str], *, validation: int, test: int, seed: int
) -> Split:
    """Write `train`, `validation` and `test`, each with the ending of its language, into the folder.

    The validation and test sets have as many pairs as asked for, drawn at random and all different; all others are for
    training. The order is that of the files.

    Raises `UserError` if the files cannot be read or do not fit each other, if they have too few pairs, or if the
    folder already has such files.
    """
    outputs = {name: (folder / f"{name}.{languages[0]}", folder / f"{name}.{languages[1]}") for name in SPLITS}
    for pair in outputs.values():
        for path in pair:
            require_new(path)
    check_pairs(*paths)
    distinct = np.unique(np.fromiter((key for key, _ in _keyed(paths, seed) if key is not None), dtype=np.uint64))
    if len(distinct) <= validation + test:
        raise UserError(
            f"{paths[0]} and {paths[1]} have {len(distinct)} different pairs, too few for {validation} validation and "
            f"{test} test pairs: lower --validation or --test"
        )
    held_out = dict.fromkeys(distinct[:test].tolist(), "test")
    held_out |= dict.fromkeys(distinct[test : test + validation].tolist(), "validation")
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        files = {n: [stack.enter_context(replace_atomically(path)) for path in pair] for n, pair in outputs.items()}
        for key, lines in _keyed(paths, seed):
            name = "empty" if key is None else held_out.get(key, "train")
            counts[name] += 1
            if key in held_out:
                held_out[key] = "copies"
            for file, line in zip(files.get(name, ()), lines, strict=False):
                file.write(f"{line}\n".encode())
    return Split(outputs, {name: counts[name] for name in SPLITS}, counts["empty"], counts["copies"])


def _keyed(paths: tuple[Path, Path], seed: int) -> Iterator[tuple[int | None, tuple[str, ...]]]:
    """Each pair of lines with a random number that its words and the seed decide; None if a side is empty."""
    for pair in zip(*map(iterate_lines, paths), strict=True):
        source, target = (" ".join(line.lower().split()) for line in pair)
        digest = hashlib.blake2b(f"{seed}\n{source}\n{target}".encode(), digest_size=8).digest()
        yield (int.from_bytes(digest, "big") if source and target else None), pair
