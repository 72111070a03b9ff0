"""What can be seen in a text before a model is trained on it: why a model would be useless or its scores too high."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from nmt.data.splits import load_split, training_paths
from nmt.data.training_set import TrainingSet
from nmt.system.wording import counted
from nmt.text.corpus import comparable, iterate_lines
from nmt.text.language import identifiable, likeliest_language

SAMPLE = 100  # lines of each side
COPIES = 0.1  # the share of untranslated pairs from which on they do harm (Khayrallah and Koehn 2018)
_CELL = r"[^\s\d\u2e80-\uffff]"  # Chinese has no spaces after commas
_TABLE = re.compile(rf'\t|{_CELL}[,;]{_CELL}|^\s*<.*>\s*$|^\s*\{{".*\}}\s*$')  # TSV, CSV, XML, JSON


def advice(pairs: TrainingSet) -> Iterator[str]:
    """A line for each problem that the training text seems to have: how large it is, and what to do.

    A sample of the corpus shows languages, tables and copies.
    """
    paths, counts = training_paths(pairs.config), pairs.store.meta["pairs"]
    if sum(counts) < 100:
        yield f"data: only {counted(sum(counts), 'training pair')}: a useful model needs tens of thousands"
    step = max(1, counts[0] // SAMPLE)
    sample = [list(islice(iterate_lines(path), 0, None, step)) for path in paths[0]]
    tables = [sum(map(bool, map(_TABLE.search, lines))) for lines in sample]
    for path, count in zip(paths[0], tables, strict=True):
        if count > len(sample[0]) / 2:
            rows = f"{count} of {len(sample[0])} sampled lines look like rows of a table or markup"
            yield f"{path}: {rows}: write the sentences alone, one per line"
    same = sum(comparable(source) == comparable(target) for source, target in zip(*sample, strict=True))
    if same >= COPIES * len(sample[0]):
        yield f"data: {same} of {len(sample[0])} sampled pairs have the same text on both sides: leave such pairs out"
    elif max(tables) <= len(sample[0]) / 2:
        yield from _languages(pairs, sample)
    yield from _held_out(pairs)


def _languages(pairs: TrainingSet, sample: Sequence[Sequence[str]]) -> Iterator[str]:
    declared = [side.language for _, side in pairs.config.sides]
    guesses = [likeliest_language(" ".join(line[:300] for line in lines), identifiable()) for lines in sample]
    if guesses == declared[::-1] != declared:
        look = f"the source looks like {guesses[0]}, the target like {guesses[1]}"
        yield f"data: the sides look swapped: {look}: exchange the files, or the languages"
        return
    for (name, side), guess in zip(pairs.config.sides, guesses, strict=True):
        if side.language in identifiable() and guess not in (None, side.language):
            text = f"data.{name}.language is {side.language}, but the text looks like {guess}"
            yield f"{text}: set it to {guess}, or name other files"


def _held_out(pairs: TrainingSet) -> Iterator[str]:
    """How many validation and test pairs are in the training text."""
    splits = ["validation", "test"] if pairs.config.source.test else ["validation"]
    texts = {split: load_split(pairs.config, split) for split in splits}
    trained: dict[str, set[str]] = {comparable(line): set() for text in texts.values() for line in text.source}
    for paths in training_paths(pairs.config):
        for source, target in zip(*map(iterate_lines, paths), strict=True):
            if (key := comparable(source)) and key in trained:
                trained[key].add(comparable(target))
    for split, text in texts.items():
        translations = [trained[comparable(line)] for line in text.source]
        same = sum(comparable(line) in some for line, some in zip(text.target, translations, strict=True))
        other = sum(map(bool, translations)) - same
        if same or other > len(translations) / 100:
            yield (
                f"data: {same} of {len(translations)} {split} pairs are in the training text, {other} more with "
                "another translation: they raise the scores; nmt split makes sets that share no sentence"
            )
