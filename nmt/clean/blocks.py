"""The rules that look at one pair, applied to a block of pairs, in this or another process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.clean import repairs, rules
from nmt.clean.language import language
from nmt.clean.placeholders import available, placeholders
from nmt.clean.settings import Settings
from nmt.text.corpus import comparable
from nmt.text.normalization import normalized

PER_PAIR: dict[str, Callable[[str, str, Settings], str]] = {
    "empty": rules.empty,
    "too-long": rules.too_long,
    "identical": rules.identical,
    "ratio": rules.ratio,
    "repeated": rules.repeated,
    "numbers": rules.numbers,
    "placeholders": placeholders,
    "language": language,
}


class Pair(NamedTuple):
    """A pair and its number in the corpus, from 1: that of its line, in files of lines."""

    number: int
    source: str
    target: str


class Event(NamedTuple):
    """A pair that a rule drops or changes, and why, or how."""

    rule: str
    pair: Pair
    reason: str


class Checked(NamedTuple):
    """What a number of pairs became.

    Hashes (N 4) are of each kept pair's source and of the pair, as texts, then of both sides in the form that is the
    same for sentences that count as equal (`nmt.text.corpus.comparable`).
    """

    pairs: int
    kept: list[Pair]
    hashes: NDArray[np.uint64]
    dropped: list[Event]
    changed: list[Event]


def check(pairs: Sequence[Pair], settings: Settings) -> Checked:
    """Mend, divide and judge pairs. Raises `UserError` if a rule needs a package that is not installed."""
    kept, dropped, changed = list[Pair](), list[Event](), list[Event]()
    active = [name for name in PER_PAIR if name not in settings.skip and (name != "placeholders" or available())]
    for pair in pairs:
        for one in _repaired(pair, settings, dropped, changed):
            for name in active:
                if reason := PER_PAIR[name](one.source, one.target, settings):
                    dropped.append(Event(name, one, reason))
                    break
            else:
                kept.append(one)
    hashes = np.array([_hashes(pair) for pair in kept], dtype=np.uint64).reshape(-1, 4)
    return Checked(len(pairs), kept, hashes, dropped, changed)


def _repaired(pair: Pair, settings: Settings, dropped: list[Event], changed: list[Event]) -> Iterator[Pair]:
    if "mojibake" not in settings.skip:
        if reason := repairs.lost(pair.source, pair.target):
            dropped.append(Event("mojibake", pair, reason))
            return
        mended = Pair(pair.number, repairs.mended(pair.source), repairs.mended(pair.target))
        if mended != pair:
            changed.append(Event("mojibake", mended, "mended"))
            pair = mended
    if not settings.split_lines or "lines" in settings.skip:
        yield pair
        return
    parts = repairs.split_lines(pair.source, pair.target)
    if len(parts) > 1:
        changed.append(Event("lines", pair, f"{len(parts)} pairs"))
    for source, target in parts:
        yield Pair(pair.number, source, target)


def _hashes(pair: Pair) -> tuple[int, ...]:
    source, target = (" ".join(normalized(text).split()) for text in pair[1:])
    return tuple(map(hashed, (source, f"{source}\n{target}", comparable(pair.source), comparable(pair.target))))


def hashed(text: str) -> int:
    """64 bits of a text's BLAKE2b hash: two of 5 million texts share one with a probability of 10⁻⁶."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
