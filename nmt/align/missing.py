"""Words of a source that its translation lacks, and words that only the translation has, by the model's probabilities.

Contrastive conditioning (Vamvas and Sennrich 2022, section 3): a source word v is omitted from the translation y of x
if y is more probable as a translation of x without v; a target word w is added if y without it is more probable:

    omission(v) = log p(y | x∖v) − log p(y | x)        addition(w) = log p(y∖w | x) − log p(y | x)

Both are in nats. For additions they use a model of the other direction, which is not needed here. The sum of attention
to a source word (Tu et al. 2016, section 2.2) shows few omissions: `benchmarks/missing_words.py` compares both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from nmt.decoding.translation import Translation
from nmt.decoding.word_alignment import token_shares
from nmt.text.corpus import ParallelText
from nmt.text.vocabulary import without_end
from nmt.translator import Translator

SHARE = 0.05  # of the words of validation pairs that lie beyond a threshold
DEFAULT = (1.7, 6.5)  # nats: those of the bundled models on Multi30k, for models whose checkpoints have none
MOST_PAIRS = 200  # that `fitted` reads
MOST_TOKENS = 120  # of a source and its translation, for `explained`


class Evidence(NamedTuple):
    """How much more probable a pair is without each of its words, in nats; −∞ for one without letters or digits."""

    omission: Float[np.ndarray, " V"]  # of each source word
    addition: Float[np.ndarray, " W"]  # of each target word


class Missing(NamedTuple):
    """Positions, from 0, of words between white space: of the source, and of the translation."""

    omitted: tuple[int, ...] = ()
    added: tuple[int, ...] = ()


NOTHING = Missing()


@dataclass(frozen=True)
class CheckedTranslation(Translation):
    """A translation with its omitted and added words, which `checks` and `doubts` include."""

    missing: Missing = NOTHING

    @property
    def omitted_words(self) -> list[str]:
        return [self.source.split()[position] for position in self.missing.omitted]

    @property
    def added_words(self) -> list[str]:
        return [self.text.split()[position] for position in self.missing.added]

    @property
    def checks(self) -> dict[str, Any]:
        sides = zip(("missing_words", "added_words"), self.missing, (self.omitted_words, self.added_words), strict=True)
        words = {
            name: [{"position": position, "word": word} for position, word in zip(positions, words, strict=True)]
            for name, positions, words in sides
        }
        return super().checks | words

    @property
    def doubts(self) -> list[str]:
        sides = {"words missing": self.omitted_words, "words added": self.added_words}
        return [*super().doubts, *(f"{name}: {', '.join(words)}" for name, words in sides.items() if words)]


def checked(
    translator: Translator,
    translations: Sequence[Translation],
    *,
    thresholds: Sequence[float] | None = None,
) -> list[CheckedTranslation]:
    """The translations with their omitted and added words: those with more evidence than `thresholds`, in nats.

    These are the model's by default, or else `DEFAULT`. A text of several sentences is checked sentence by sentence.
    Alternatives in `n_best` are not checked.
    """
    parts = [part for translation in translations for part in translation.sentences or (translation,)]
    evidence = contrast(translator, [part.source for part in parts], [part.text for part in parts])
    limits = thresholds or translator.word_thresholds or DEFAULT
    of_parts = iter([Missing(*map(_above, one, limits)) for one in evidence])
    result: list[CheckedTranslation] = []
    for translation in translations:
        if not translation.sentences:
            result.append(_checked(translation, next(of_parts)))
            continue
        sentences = tuple(_checked(sentence, next(of_parts)) for sentence in translation.sentences)
        omitted, added = list[int](), list[int]()
        source, target = 0, 0  # words before the sentence
        for sentence in sentences:
            omitted += (source + position for position in sentence.missing.omitted)
            added += (target + position for position in sentence.missing.added)
            source, target = source + len(sentence.source.split()), target + len(sentence.text.split())
        result.append(_checked(replace(translation, sentences=sentences), Missing(tuple(omitted), tuple(added))))
    return result


def count_missing(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[int, int]]:
    """How many words of each pair are omitted, and how many added, by the model's thresholds."""
    limits = translator.word_thresholds or DEFAULT
    evidence = contrast(translator, sources, targets)
    return [(len(_above(one.omission, limits[0])), len(_above(one.addition, limits[1]))) for one in evidence]


def fitted(translator: Translator, text: ParallelText) -> list[float]:
    """Thresholds of omitted and added words, in nats: `SHARE` of the words of a text's pairs lie above each.

    They are at least 0, where a pair is as probable with a word as without it. Of a long text `MOST_PAIRS` pairs are
    read, evenly spaced.
    """
    step = -(-len(text.source) // MOST_PAIRS) or 1
    evidence = contrast(translator, text.source[::step], text.target[::step])
    sides = (np.concatenate([np.zeros(1), *side]) for side in zip(*evidence, strict=True))
    return [max(0.0, float(np.quantile(side[side > -np.inf], 1 - SHARE))) for side in sides]


def flagged_tokens(translator: Translator, translation: Translation) -> tuple[list[int], list[int]]:
    """The positions of the source tokens of omitted words, and of the translation's tokens of added words.

    Punctuation that is written together with a word is not among them.
    """
    [one] = checked(translator, [translation])
    sides = (one.source_tokens, one.source, one.missing.omitted), (one.tokens, one.text, one.missing.added)
    omitted, added = (
        np.flatnonzero(token_shares(without_end(tokens), text.split())[list(flagged)].sum(axis=0)).tolist()
        for tokens, text, flagged in sides
    )
    return (
        [position for position in omitted if any(map(str.isalnum, one.source_tokens[position]))],
        [position for position in added if any(map(str.isalnum, one.tokens[position]))],
    )


def explained(translator: Translator, translation: Translation) -> dict[str, list[int] | None]:
    """`flagged_tokens` by name, for the page; null for what is too long to be checked while somebody types."""
    if len(translation.source_tokens) + len(translation.tokens) > MOST_TOKENS:
        return {"missing": None, "added": None}
    return dict(zip(("missing", "added"), flagged_tokens(translator, translation), strict=True))


def contrast(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Evidence]:
    """The evidence of each pair, from one forced score for itself, and one without each word."""
    words = [(source.split(), target.split()) for source, target in zip(sources, targets, strict=True)]
    pairs: list[tuple[str, str]] = []
    for source, target, (of_source, of_target) in zip(sources, targets, words, strict=True):
        pairs.append((source, target))
        pairs += ((without(of_source, position), target) for position in _checkable(of_source, target))
        pairs += ((source, without(of_target, position)) for position in _checkable(of_target, source))
    scores = iter(translator.score([source for source, _ in pairs], [target for _, target in pairs]))
    result = []
    for source, target, sides in zip(sources, targets, words, strict=True):
        whole = next(scores).log_probability
        evidence = Evidence(*(np.full(len(side), -np.inf) for side in sides))
        for values, side, other in zip(evidence, sides, (target, source), strict=True):
            for position in _checkable(side, other):
                values[position] = next(scores).log_probability - whole
        result.append(evidence)
    return result


def without(words: Sequence[str], position: int) -> str:
    """A text without a word. Punctuation after it moves to the word before; a capital at the beginning stays."""
    before, after, word = list(words[:position]), list(words[position + 1 :]), words[position]
    if before:
        last = max(i for i, letter in enumerate(word) if letter.isalnum())
        before[-1] += word[last + 1 :]
    elif after and word[0].isupper():
        after[0] = after[0][0].upper() + after[0][1:]
    return " ".join([*before, *after])


def _checkable(words: Sequence[str], other: str) -> list[int]:
    """The positions of words with letters or digits, if there are others beside them, and a text on the other side."""
    positions = [position for position, word in enumerate(words) if any(map(str.isalnum, word))]
    return positions if len(positions) > 1 and other.strip() else []


def _above(evidence: Float[np.ndarray, " N"], threshold: float) -> tuple[int, ...]:
    return tuple(np.flatnonzero(evidence > threshold).tolist())


def _checked(translation: Translation, missing: Missing) -> CheckedTranslation:
    values = {field.name: getattr(translation, field.name) for field in fields(Translation)}
    return CheckedTranslation(**values, missing=missing)
