"""Made-up omissions and additions: what share of them do two detectors find at 5 % of false alarms?

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
from typing import Any, NamedTuple

import numpy as np

from nmt.align.lexicon import lexical_links
from nmt.align.missing import checked, contrast
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
    return [[(s, t) for s, t in links[pair].tolist()] for pair in range(len(links))]


def phrase(words: list[str], stop: set[str], draw: random.Random) -> range | None:
    """The positions of a phrase that ends with a content word."""
    ends = [i for i, word in enumerate(words) if bare(word).isalpha() and bare(word) not in stop]
    if not ends:
        return None
    end = draw.choice(ends)
    return range(max(0, end - draw.randint(0, LONGEST - 1)), end + 1)


def omission(pair: Pair, links: Any, stop: set[str], draw: random.Random) -> Pair | None:
    words, partners = pair.target.split(), defaultdict(set)
    for s, t in links:
        partners[s].add(t)
    span = phrase(words, stop, draw)
    if span is None or len(words) - len(span) < LONGEST:
        return None
    omitted = frozenset(s for s, positions in partners.items() if positions <= set(span))
    end = "." if span.stop == len(words) and pair.target.endswith(".") else ""
    return Pair(pair.source, " ".join(words[: span.start] + words[span.stop :]) + end, omitted) if omitted else None


def addition(pair: Pair, other: str, stop: set[str], draw: random.Random) -> Pair | None:
    words, span = pair.target.split(), phrase(other.split(), stop, draw)
    if span is None or len(words) < 2:
        return None
    more, start = [bare(other.split()[i]) for i in span], draw.randint(1, len(words) - 1)
    return pair._replace(
        target=" ".join(words[:start] + more + words[start:]), positives=frozenset(range(start, start + len(more)))
    )


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


def report(name: str, translator: Translator, sets: Sequence[Sequence[Pair]], side: int, stop: set[str]) -> None:
    scores = [detectors(translator, pairs, side) for pairs in sets]
    for kind, others in (("content words", stop), ("all words", set[str]())):
        for detector in scores[0]:
            for of_set, pairs in zip(scores, sets, strict=True):
                negatives, positives = list[float](), list[list[float]]()
                for values, pair in zip(of_set[detector], pairs, strict=True):
                    words = [bare(word) for word in pair[side].split()]
                    content = [i for i, word in enumerate(words) if word not in others and any(map(str.isalnum, word))]
                    negatives += [values[i] for i in content if i not in pair.positives]
                    positives.append([values[i] for i in content if i in pair.positives])
                if pairs is sets[0]:
                    threshold = np.quantile(negatives, 1 - SHARE)
            positives = [row for row in positives if row]
            alarms, of_words = np.mean(np.array(negatives) > threshold), np.concatenate(positives) > threshold
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
        pairs = [Pair(*pair, frozenset()) for pair in zip(text.source, text.target, strict=True)][: options.pairs]
        others = [pair.target for pair in pairs[len(pairs) // 2 :] + pairs]
        made = (omission(pair, links, stop[1], draw) for pair, links in zip(pairs, all_links[first:], strict=False))
        omissions.append(pairs + list(filter(None, made)))
        made = (addition(pair, other, stop[1], draw) for pair, other in zip(pairs, others, strict=False))
        additions.append(pairs + list(filter(None, made)))
        first += len(text.source)
    report("omissions", translator, omissions, 0, stop[0])
    report("additions", translator, additions, 1, stop[1])
    results = checked(translator, translator.translate(texts[2].source[: options.pairs]))
    print(f"translations of test: {np.mean([any(one.missing) for one in results]):.1%} have omitted or added words")


if __name__ == "__main__":
    main()
