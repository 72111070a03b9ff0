"""Tags in real text: how many results are well-formed, and how many tags are where translators have them.

    python benchmarks/markup.py test.csv.gz --train train.csv.gz
    python benchmarks/markup.py test.csv.gz checkpoints/strings-en-de/best.safetensors
    python benchmarks/markup.py test.csv.gz checkpoints/strings-en-de/best.safetensors --translate

Files are CSV, plain or .gz, with a column for each language. Pairs count whose sides have the same tags. These are
taken out of both sides and put back into the reference: by links that `nmt.align` learns from the pairs and those of
`--train`, or by the attention of a model that is made to write the reference. With `--translate` all sources with tags
are translated, and only well-formedness is measured.

A tag is in its place if as many characters, without white space, are before it as in the reference. Both have the same
tags, so that F1 is the share of tags in their place. Inner tags have text before and after them in the reference; the
others are easy. A result is well-formed if html.parser reads no more tags without a partner in it than in the source.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import islice, pairwise
from pathlib import Path

import torch
from numpy import ndarray

from nmt.align.links import of_text
from nmt.constraints.atoms import Atoms, Links
from nmt.constraints.markup import Markup, parse, transfer
from nmt.constraints.tags import VOID
from nmt.constraints.translator import ConstrainedTranslator
from nmt.evaluation.alignment import attend_words, word_pairs
from nmt.text.corpus import ParallelText
from nmt.text.sentences import split_text

Pair = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", type=Path)
    parser.add_argument("checkpoint", type=Path, nargs="?")
    parser.add_argument("--train", type=Path, help="more pairs to learn links from")
    parser.add_argument("--columns", nargs=2, default=("en", "de"), metavar=("SOURCE", "TARGET"))
    parser.add_argument("--translate", action="store_true", help="put tags into translations, not into references")
    options = parser.parse_args()
    pairs = [pair for pair in read(options.csv, options.columns) if tags(pair[0])]
    tagged = [pair for pair in pairs if options.translate or tags(pair[0]) == tags(pair[1])]
    sources, references = ([parse(pair[side]) for pair in tagged] for side in (0, 1))
    plain = [(source.text, text_of(reference)) for source, reference in zip(sources, references, strict=True)]
    if options.translate:
        model = ConstrainedTranslator.load(options.checkpoint)
        results = [translation.text for translation in model.translate([pair[0] for pair in tagged], markup=True)]
    else:
        more = read(options.train, options.columns) if options.train else []
        links = attention(options.checkpoint, plain) if options.checkpoint else learnt_links(plain, more)
        results = [transfer(*parts) for parts in zip(sources, (text for _, text in plain), links, strict=True)]
    worse = sum(Reader(result).lonely > Reader(pair[0]).lonely for result, pair in zip(results, tagged, strict=True))
    print(f"{len(tagged)} pairs with tags, {len(tagged) - worse} results well-formed")
    if not options.translate:
        report(results, references)


def read(path: Path, columns: Sequence[str]) -> Iterator[Pair]:
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        for row in csv.DictReader(file):
            yield row[columns[0]], row[columns[1]]


def tags(text: str) -> Counter[str]:
    return Counter(tag.text for tag in parse(text).tags)


def text_of(reference: Markup) -> str:
    """The plain text, with no white space that shows where tags were, but for a space between words."""
    edges = [0, *(tag.position for tag in reference.tags), len(reference.text)]
    text = ""
    for piece in (reference.text[slice(*edge)] for edge in pairwise(edges)):
        gap = " " if text and (text[-1].isspace() or piece[:1].isspace()) else ""
        text = text.rstrip() + gap + piece.lstrip() if piece.strip() else text + gap
    return text


def learnt_links(pairs: Sequence[Pair], more: Iterable[Pair]) -> list[Links]:
    """Links between the words of the pairs, learnt from the atoms of these and of more pairs."""
    texts = [*pairs, *((parse(source).text, parse(target).text) for source, target in more)]
    sides = [[Atoms(pair[side]) for pair in texts] for side in (0, 1)]
    links = of_text(ParallelText(*([" ".join(atoms.texts) for atoms in side] for side in sides)))
    words = zip(links, *sides, strict=True)
    return [[(s.words[i], t.words[j]) for i, j in of_pair] for of_pair, s, t in islice(words, len(pairs))]


def attention(checkpoint: Path, pairs: Sequence[Pair]) -> list[ndarray]:
    """The attention (T S) between the words of each pair as a model is made to write it, by sentences if it can be."""
    translator = ConstrainedTranslator.load(checkpoint)
    split = []
    for pair in pairs:
        sides = [
            split_text(text, language).sentences for text, language in zip(pair, translator.languages, strict=True)
        ]
        split.append(sides if len(sides[0]) == len(sides[1]) else [[text] for text in pair])
    text = ParallelText(*([part for sides in split for part in sides[side]] for side in (0, 1)))
    parts = attend_words(translator, text, word_pairs(text, translator.languages, "whitespace"))
    return [torch.block_diag(*map(torch.from_numpy, islice(parts, len(sides[0])))).numpy() for sides in split]


def report(results: Sequence[str], references: Sequence[Markup]) -> None:
    right, every = [0, 0], [0, 0]
    for result, reference in zip(results, references, strict=True):
        expected, actual = places(reference), places(parse(result))
        size = len("".join(reference.text.split()))
        for n, first in enumerate((0, 1)):
            counted = [place for place in expected if first <= place[1] <= size - first]
            every[n] += sum(expected[place] for place in counted)
            right[n] += sum((expected & actual)[place] for place in counted)
    for name, count, most in zip(("all", "inner"), right, every, strict=True):
        print(f"F1 of {name} {most} tags: {count / max(most, 1):.3f}")


def places(markup: Markup) -> Counter[tuple[str, int]]:
    """Each tag with the number of characters before it, without white space."""
    return Counter((tag.text, len("".join(markup.text[: tag.position].split()))) for tag in markup.tags)


class Reader(HTMLParser):
    """Counts tags without a partner, but for HTML's void elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.lonely = 0
        self.feed(text)
        self.close()
        self.lonely += len(self.stack)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.stack += [tag] * (tag not in VOID)

    def handle_endtag(self, tag: str) -> None:
        last = len(self.stack) - self.stack[::-1].index(tag) - 1 if tag in self.stack else None
        self.lonely += 1 if last is None else len(self.stack) - last - 1
        del self.stack[len(self.stack) if last is None else last :]


if __name__ == "__main__":
    main()
