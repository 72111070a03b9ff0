"""Training, validation and test sets from one pair of files.

Which set a pair belongs to is decided by a hash of its text and the seed: the same on every machine, wherever the pair
stands in the files. All copies of a pair, whatever their case and spacing, therefore belong to one set.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import numpy as np

from nmt.data.splits import SPLITS
from nmt.system.errors import UserError
from nmt.system.files import replace_atomically, require_new
from nmt.text.corpus import check_pairs, iterate_lines


def split(
    paths: tuple[Path, Path], folder: Path, languages: tuple[str, str], *, validation: int, test: int, seed: int
) -> Counter[str]:
    """Write `train`, `validation` and `test`, each with the ending of its language, into the folder.

    The validation and test sets have as many pairs as asked for, drawn at random and all different; all others are for
    training. The order is that of the files. Returns the numbers of pairs in each set, of those that were left out
    because a side is `empty`, and of further `copies` of validation and test pairs, which were left out, too.

    Raises `UserError` if the files cannot be read or do not fit each other, if they have too few pairs, or if the
    folder already has such files.
    """
    outputs = {name: (folder / f"{name}.{languages[0]}", folder / f"{name}.{languages[1]}") for name in SPLITS}
    for path in chain.from_iterable(outputs.values()):
        require_new(path)
    check_pairs(*paths)
    keys = np.unique(np.fromiter((key for key, _ in _keyed_pairs(paths, seed) if key is not None), dtype=np.uint64))
    if len(keys) <= validation + test:
        raise UserError(
            f"{paths[0]} and {paths[1]} have {len(keys)} different pairs, too few for {validation} validation and "
            f"{test} test pairs: lower --validation or --test"
        )
    sets = dict.fromkeys(keys[:test].tolist(), "test")
    sets |= dict.fromkeys(keys[test : test + validation].tolist(), "validation")
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        files = {n: [stack.enter_context(replace_atomically(path)) for path in pair] for n, pair in outputs.items()}
        for key, lines in _keyed_pairs(paths, seed):
            name = "empty" if key is None else sets.get(key, "train")
            counts[name] += 1
            if key in sets:
                sets[key] = "copies"
            for file, line in zip(files.get(name, ()), lines, strict=False):
                file.write(f"{line}\n".encode())
    return counts


def _keyed_pairs(paths: tuple[Path, Path], seed: int) -> Iterator[tuple[int | None, tuple[str, ...]]]:
    """Each pair of lines with a random number that its words and the seed decide; None if a side is empty."""
    for pair in zip(*map(iterate_lines, paths), strict=True):
        source, target = (" ".join(line.lower().split()) for line in pair)
        digest = hashlib.blake2b(f"{seed}\n{source}\n{target}".encode(), digest_size=8).digest()
        yield (int.from_bytes(digest, "big") if source and target else None), pair
