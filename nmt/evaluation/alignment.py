"""Word alignment from attention, and its error rate against gold links (Och and Ney 2003).

Models read subwords or characters, gold links count words: see `nmt.decoding.word_alignment`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from nmt import addons
from nmt.decoding.word_alignment import Link, token_shares, word_attention
from nmt.evaluation.by_length import resampled_sums
from nmt.evaluation.scores import spacy_tokens
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, read_lines

if TYPE_CHECKING:
    from nmt.translator import Translator

WordKind = Literal["spacy", "whitespace"]

BLOCK = 512  # pairs whose weights are in memory at a time: those of a whole test set in characters would fill it
_LINK = re.compile(r"([0-9]{1,9})([-?])([0-9]{1,9})")


@dataclass(frozen=True)
class Links:
    """One pair's gold links, S and P of Och and Ney (2003, section 5): `possible` includes the sure ones."""

    sure: frozenset[Link]
    possible: frozenset[Link]


@dataclass(frozen=True)
class WordPairs:
    """The words of a parallel text, sentence by sentence, and the gold links between them; None if there are none."""

    source: list[list[str]]
    target: list[list[str]]
    links: list[Links] | None = None


@dataclass(frozen=True)
class AlignmentScore:
    """Fractions from 0 to 1; `precision` is None where no word was linked. The interval of `error_rate` is at 95 %."""

    error_rate: float
    ci_low: float
    ci_high: float
    precision: float | None
    recall: float


def read_links(path: Path) -> list[Links]:
    """Gold links from a file: a line per pair, "0-0 1?2" for a sure and a possible link; or as in `nmt.align.gold`."""
    room = addons.offered("gold")
    if room is not None and (other := room.read_other_links(path)) is not None:
        return other
    result = []
    for number, line in enumerate(read_lines(path), start=1):
        links: dict[str, set[Link]] = {"-": set(), "?": set()}
        for text in line.split():
            if (match := _LINK.fullmatch(text)) is None:
                advice = "write source-target, words counted from 0: 0-2 for a sure link, 0?2 for a possible one"
                raise UserError(f"{path}, line {number}: {text!r} is not a link; {advice}")
            links[match[2]].add((int(match[1]), int(match[3])))
        result.append(Links(frozenset(links["-"]), frozenset(links["-"] | links["?"])))
    return result


def word_pairs(
    text: ParallelText, languages: tuple[str, str], kind: WordKind = "spacy", links_path: Path | None = None
) -> WordPairs:
    """Both sides' words, by spaCy's rules or whitespace, and their gold links. Raises UserError if these do not fit."""
    source, target = (
        spacy_tokens(side, language) if kind == "spacy" else [sentence.split() for sentence in side]
        for side, language in zip((text.source, text.target), languages, strict=True)
    )
    if links_path is None:
        return WordPairs(source, target)
    links = read_links(links_path)
    if len(links) != len(source):
        raise UserError(f"{links_path} has {len(links)} lines, and the text {len(source)} pairs: give its own links")
    other = "whitespace" if kind == "spacy" else "spacy"
    for number, (pair, source_words, target_words) in enumerate(zip(links, source, target, strict=True), start=1):
        for s, t in sorted(pair.possible):
            if s >= len(source_words) or t >= len(target_words):
                raise UserError(
                    f"{links_path}, line {number}: link {s}{'-' if (s, t) in pair.sure else '?'}{t} points outside a "
                    f"pair of {len(source_words)} source and {len(target_words)} target words, counted from 0; give "
                    f"the alignment of this text, or try --alignment-words {other}"
                )
    if not any(pair.sure for pair in links):
        raise UserError(f"{links_path} has no sure link, so nothing can be scored: write sure links as in 0-2")
    return WordPairs(source, target, links)


def score_alignment(
    links: Sequence[AbstractSet[Link]], gold: Sequence[Links], samples: int = 1000, seed: int = 12345
) -> AlignmentScore:
    """Score the links A of each pair against the gold links S and P (Och and Ney 2003, section 5), some of them sure.

    AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), precision = |A∩P| / |A|, recall = |A∩S| / |S|, each from sums over all
    pairs. The interval is the percentile bootstrap's over pairs (Koehn 2004, section 3), of `samples` resamples; the
    same seed draws the same pairs for every model.
    """
    rows = [(len(a & g.sure), len(a & g.possible), len(a), len(g.sure)) for a, g in zip(links, gold, strict=True)]
    counts = np.array(rows, dtype=np.int64).reshape(-1, 4)
    in_sure, in_possible, linked, sure = counts.sum(axis=0).tolist()
    sums = resampled_sums(counts, samples, seed)
    sums = sums[sums[:, 2:].any(axis=1)]  # without resamples that have no link at all
    rates = 1 - (sums[:, 0] + sums[:, 1]) / (sums[:, 2] + sums[:, 3])
    low, high = np.percentile(rates, [2.5, 97.5])
    return AlignmentScore(
        error_rate=1 - (in_sure + in_possible) / (linked + sure),
        ci_low=float(low),
        ci_high=float(high),
        precision=in_possible / linked if linked else None,
        recall=in_sure / sure,
    )


def attend_words(translator: Translator, text: ParallelText, words: WordPairs) -> Iterator[Float[np.ndarray, "T S"]]:
    """For each pair, the attention of its target words to its source words, the target being forced."""
    for start in range(0, len(text.source), BLOCK):
        block = slice(start, start + BLOCK)
        sides = text.source[block], text.target[block], words.source[block], words.target[block]
        attention = translator.forced_attention(*sides[:2])
        for source, target, source_words, target_words, weights in zip(*sides, attention, strict=True):
            source_shares = token_shares(translator.source.surfaces(source), source_words)
            target_shares = token_shares(translator.target.surfaces(target), target_words)
            yield word_attention(weights.numpy()[:-1], source_shares, target_shares)
