"""Made-up omissions and additions: what share of them do three detectors find at 5 % of false alarms?

A phrase of one to three words that ends with a content word is deleted from each reference of Multi30k: the omitted
words are the content words of the source whose links (of the lexical aligner, from the text alone) all lie in it. Or a
phrase of another reference is inserted. All other content words, with those of the pairs as they are, are no omissions
or additions. Thresholds are the 95 % quantile of these on the validation set; all else is counted on the test set.

    python benchmarks/missing_words.py [CHECKPOINT] [--data FOLDER] [--pairs N]
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from nmt.align.lexicon import lexical_links
from nmt.align.missing import ADDED_ABOVE, OMITTED_ABOVE, checked, contrast
from nmt.config.data import DataConfig
from nmt.data.splits import load_split
from nmt.data.store import Rows
from nmt.decoding.word_alignment import token_shares, word_attention
from nmt.translator import Translator

LONGEST, SHARE = 3, 0.05


class Pair(NamedTuple):
    """A pair, and the positions of made-up omissions or additions in it; with none, it is as it was."""

    source: str
    target: str
    positives: frozenset[int]


def bare(word: str) -> str:
    return word.lower().strip(".,;:!?\"'()„“-") or word


def links_of(texts: Sequence[Any]) -> list[list[tuple[int, int]]]:
    sides = []
    for lines in ([line for text in texts for line in text.source], [line for text in texts for line in text.target]):
        ids: dict[str, int] = {}
        numbers = [[ids.setdefault(bare(word), len(ids)) for word in line.split()] for line in lines]
        lengths = np.array([len(row) for row in numbers], dtype=np.int32)
        sides.append(Rows(np.array([i for row in numbers for i in row], dtype=np.int32), lengths))
    links = lexical_links(*sides)
    return [links[pair] for pair in range(len(links))]


def phrase(words: list[str], stop: set[str], draw: random.Random) -> range | None:
    """The positions of a phrase that ends with a content word."""
    ends = [i for i, word in enumerate(words) if bare(word).isalpha() and bare(word) not in stop]
    if not ends:
        return None
    end = draw.choice(ends)
    return range(max(0, end - draw.randint(0, LONGEST - 1)), end + 1)


def omission(source: str, target: str, links: Any, stop: set[str], draw: random.Random) -> Pair | None:
    words, partners = target.split(), defaultdict(set)
    for s, t in links:
        partners[s].add(t)
    span = phrase(words, stop, draw)
    if span is None or len(words) - len(span) < LONGEST:
        return None
    omitted = frozenset(s for s, positions in partners.items() if positions <= set(span))
    rest = words[: span.start] + words[span.stop :]
    end = "." if span.stop == len(words) and target.endswith(".") else ""
    return Pair(source, " ".join(rest) + end, omitted) if omitted else None


def addition(source: str, target: str, other: str, stop: set[str], draw: random.Random) -> Pair | None:
    words, span = target.split(), phrase(other.split(), stop, draw)
    if span is None or len(words) < 2:
        return None
    more, start = [bare(other.split()[i]) for i in span], draw.randint(1, len(words) - 1)
    return Pair(source, " ".join(words[:start] + more + words[start:]), frozenset(range(start, start + len(more))))


def detectors(translator: Translator, pairs: Sequence[Pair], side: int) -> dict[str, list[np.ndarray]]:
    """The scores of each pair's words, on the source side (0) or the target side (1): high for what is doubtful."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    totals = []
    for source, target, weights in zip(sources, targets, translator.forced_attention(sources, targets), strict=True):
        of_source = token_shares(translator.source.surfaces(source), source.split())
        of_target = token_shares(translator.target.surfaces(target), target.split())
        matrix = word_attention(weights.numpy()[:-1], of_source, of_target)
        totals.append(-matrix.sum(axis=0) if side == 0 else -matrix.max(axis=1))  # sum to a word; largest of a word
    return {"contrast": [x[side] for x in contrast(translator, sources, targets)], "attention": totals}


def means(totals: Sequence[np.ndarray], pairs: Sequence[Pair], side: int) -> dict[str, float]:
    """The mean of each word, as if it had been seen three times more with the mean of all words."""
    usual = float(np.concatenate(totals).mean())
    values = defaultdict(lambda: [usual] * 3)
    for of_pair, pair in zip(totals, pairs, strict=True):
        for total, word in zip(of_pair, pair[side].split(), strict=True):
            values[bare(word)].append(total)
    return {"": usual, **{word: float(np.mean(seen)) for word, seen in values.items()}}


def split_scores(scores: Sequence[np.ndarray], pairs: Sequence[Pair], side: int, stop: set[str]) -> tuple[Any, Any]:
    """The scores of negatives, and the scores of the positives of each pair that has some."""
    negatives, positives = [], []
    for values, pair in zip(scores, pairs, strict=True):
        words = [bare(word) for word in pair[side].split()]
        content = [i for i, word in enumerate(words) if word not in stop and any(map(str.isalnum, word))]
        negatives += [values[i] for i in content if i not in pair.positives]
        positives.append([values[i] for i in content if i in pair.positives])
    return np.array(negatives), [row for row in positives if row]


def report(name: str, translator: Translator, sets: Sequence[Sequence[Pair]], side: int, stop: set[str]) -> None:
    scores = [detectors(translator, pairs, side) for pairs in sets]
    undisturbed = [not pair.positives for pair in sets[0]]
    usual = means(list(compress(scores[0]["attention"], undisturbed)), list(compress(sets[0], undisturbed)), side)
    for of_set, pairs in zip(scores, sets, strict=True):
        of_set["attention, relative"] = [
            -total / np.array([usual.get(bare(word), usual[""]) for word in pair[side].split()])
            for total, pair in zip(of_set["attention"], pairs, strict=True)
        ]
    constant = (OMITTED_ABOVE, ADDED_ABOVE)[side]
    for kind, words in (("content words", stop), ("all words", set[str]())):
        for detector in scores[0]:
            (fit, _), (negatives, positives) = (
                split_scores(of_set[detector], pairs, side, words) for of_set, pairs in zip(scores, sets, strict=True)
            )
            for threshold in [np.quantile(fit, 1 - SHARE), *([constant] if detector == "contrast" else [])]:
                alarms, of_words = (negatives > threshold).mean(), np.concatenate(positives) > threshold
                phrases = np.mean([max(row) > threshold for row in positives])
                print(f"{name}, {kind}, {detector}, above {threshold:.2f}: {phrases:.1%} of {len(positives)} phrases, "
                      f"{of_words.mean():.1%} of {len(of_words)} words; false alarms {alarms:.1%}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", nargs="?")
    parser.add_argument("--data", default="data")
    parser.add_argument("--pairs", type=int, default=1000)
    options = parser.parse_args()
    translator = Translator.load(options.checkpoint, device="cpu")
    sides = {side: {"language": code} for side, code in zip(("source", "target"), translator.languages, strict=True)}
    data = DataConfig(corpus="multi30k", folder=options.data, **sides)
    texts = [load_split(data, split) for split in ("train", "validation", "test")]
    all_links = links_of(texts)
    stop = [import_module(f"spacy.lang.{code}.stop_words").STOP_WORDS for code in translator.languages]
    draw, first = random.Random(1), len(texts[0].source)
    omissions, additions = list[list[Pair]](), list[list[Pair]]()
    for text in texts[1:]:
        lines = list(zip(text.source, text.target, all_links[first:], strict=False))[: options.pairs]
        whole = [Pair(source, target, frozenset()) for source, target, _ in lines]
        others = [target for _, target, _ in lines[len(lines) // 2 :] + lines]
        omissions.append(whole + list(filter(None, (omission(*line, stop[1], draw) for line in lines))))
        pairs = zip(lines, others, strict=False)
        additions.append(whole + list(filter(None, (addition(*line[:2], x, stop[1], draw) for line, x in pairs))))
        first += len(text.source)
    report("omissions", translator, omissions, 0, stop[0])
    report("additions", translator, additions, 1, stop[1])
    for text in texts[2:]:
        found = checked(translator, translator.translate(text.source[: options.pairs]))
        counts = [sum(len(one.missing[side]) for one in found) / sum(len(one_side(one)) for one in found)
                  for side, one_side in ((0, lambda x: x.source.split()), (1, lambda x: x.text.split()))]  # fmt: skip
        print(f"own translations: omitted {counts[0]:.2%} of source words, added {counts[1]:.2%} of target words; "
              f"{np.mean([any(one.missing) for one in found]):.1%} of sentences")  # fmt: skip


if __name__ == "__main__":
    main()
