"""From two texts to a store: subwords, tokens, vocabularies, ids. The text is never in memory all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nmt.config.data import DataConfig, SideConfig
from nmt.data.augmentation import Augmentation
from nmt.data.store import append
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.process_pool import map_in_processes
from nmt.text.codec import Codec
from nmt.text.corpus import Skipped, check_pairs, iterate_lines
from nmt.text.normalization import normalized
from nmt.text.sentences import split_text
from nmt.text.tokenizers import TOKENIZERS
from nmt.text.vocabulary import Vocabulary, build_vocabulary, with_tags

SUBWORD_LINES = 500_000  # of a side, at most, that a subword model is trained on: every n-th line
SENTENCE_LINES = 2000  # at most, in which sentences are counted
BYTES_AT_ONCE = 1 << 24
LINES = 50_000  # of a block, which one process tokenises: seconds of work, megabytes of memory


class TokenizedSide(NamedTuple):
    """One side of a block's usable pairs."""

    counts: Counter[str]  # the distinct tokens, and how often each occurs
    tokens: NDArray[np.int32]  # as indices into `counts`
    lengths: NDArray[np.int32]  # in tokens


class Block(NamedTuple):
    """The usable pairs of some lines of a file, and how many others they have."""

    file: int
    sides: list[TokenizedSide]
    empty: int  # pairs without a token on one side
    too_long: int


@dataclass
class SideOfStore:
    """One side of the pairs while their store is built in a folder."""

    folder: Path
    name: str
    config: SideConfig
    codec: Codec  # its vocabulary is empty until it is learnt
    indices: dict[str, int] = field(default_factory=dict)  # the distinct tokens, in the order of their first appearance
    counts: Counter[str] = field(default_factory=Counter)  # of the corpus's own tokens

    def append(self, block: TokenizedSide, is_corpus: bool) -> None:
        """Append the pairs of a block, whose tokens have no ids yet."""
        indices = [self.indices.setdefault(token, len(self.indices)) for token in block.counts]
        append(self.folder, f"{self.name}_indices", np.array(indices, dtype=np.int32)[block.tokens])
        append(self.folder, f"{self.name}_lengths", block.lengths)
        if is_corpus:
            self.counts.update(block.counts)

    def finish(self, vocabulary: Vocabulary) -> None:
        """Write ids in the place of the tokens' indices, and the subword model."""
        ids = np.array(vocabulary.encode(self.indices), dtype=np.min_scalar_type(len(vocabulary)))
        path = self.folder / f"{self.name}_indices.int32"
        with path.open("rb") as file:
            while some := file.read(BYTES_AT_ONCE):
                append(self.folder, self.name, ids[np.frombuffer(some, dtype=np.int32)])
        path.unlink()
        append(self.folder, f"{self.name}_model", np.frombuffer(self.codec.subword_model or b"", dtype=np.uint8))


def build(
    config: DataConfig,
    augmentation: Augmentation,
    paths: Sequence[tuple[Path, Path]],
    monolingual: Sequence[Any],
    codecs: tuple[Codec, Codec] | None,
    folder: Path,
) -> dict[str, Any]:
    """Write the arrays of the store of pairs of files into a folder. Returns the store's plain values.

    Subwords and vocabularies are learnt from the first pair of files and the monolingual text, unless `codecs` have
    them. Raises `UserError` as `load_training_set` does.
    """
    lines = [check_pairs(*pair) for pair in paths]
    initial = codecs or _untrained_codecs(config, paths[0], monolingual, lines[0])
    sides = [SideOfStore(folder, name, side, codec) for (name, side), codec in zip(config.sides, initial, strict=True)]
    pairs, skipped = _tokenize(sides, paths, config.max_length, lines)
    if not pairs[0]:
        raise UserError(f"data: no training pair is left ({skipped}); check the files and data.max_length")
    vocabularies = [codec.vocabulary for codec in codecs or ()]
    if not vocabularies:
        for side, text in zip(sides, monolingual, strict=True):
            codec = side.codec
            if augmentation.drawn_fields(side.name):  # any subword may be drawn
                side.counts.update(dict.fromkeys(codec.tokenizer.subwords(), side.config.min_frequency))
            side.counts.update(token for line in text or () for token in codec.tokenize(line))
        vocabularies = _vocabularies(config, sides)
    for side, vocabulary in zip(sides, vocabularies, strict=True):
        side.finish(vocabulary)
    tokens = {f"{side.name}_tokens": vocabulary.tokens for side, vocabulary in zip(sides, vocabularies, strict=True)}
    several = _share_of_several(paths[0][0], config.source.language, lines[0])
    return {**tokens, "skipped": asdict(skipped), "pairs": pairs, "several_sentences": several}


def _share_of_several(path: Path, language: str, lines: int) -> float:
    """The share of a text's lines that have more than one sentence, in `SENTENCE_LINES` of them."""
    some = list(islice(iterate_lines(path), 0, None, -(-lines // SENTENCE_LINES)))
    return sum(len(split_text(line, language).sentences) > 1 for line in some) / len(some)


def _untrained_codecs(
    config: DataConfig, paths: tuple[Path, Path], monolingual: Sequence[Any], lines: int
) -> list[Codec]:
    """Each side's tokenizer, with the subword model that it has learnt (a joint one for both), and no vocabulary."""
    codecs: list[Codec] = []
    for n, (name, side) in enumerate(config.sides):
        tokenizer = TOKENIZERS[side.tokenizer]
        model = codecs[0].subword_model if config.joint_vocabulary and codecs else None
        with prefix_errors_with(f"data.{name}."):
            if tokenizer.learns and model is None:
                learnt = (0, 1) if config.joint_vocabulary else (n,)
                extra = [text for text in map(monolingual.__getitem__, learnt) if text is not None]
                most = max([lines, *(sum(1 for _ in text) for text in extra)])
                text = chain(*(iterate_lines(paths[i]) for i in learnt), *extra)
                lines_read = islice(text, 0, None, -(-most // SUBWORD_LINES))
                some = [normalized(line) if config.normalize else line for line in lines_read]
                model = tokenizer.learn(some, side.lowercase, side.component("tokenizer"))
            made = tokenizer.make(side.language, side.lowercase, model)
        codecs.append(Codec(made, Vocabulary(()), model, side.language, config.normalize))
    return codecs


def _tokenize(
    sides: Sequence[SideOfStore], paths: Sequence[tuple[Path, Path]], max_length: int, lines: Sequence[int]
) -> tuple[list[int], Skipped]:
    """Append the tokens of all files to the sides. Returns the number of usable pairs of each file, and the others."""
    files = ((iterate_lines(source), iterate_lines(target)) for source, target in paths)
    pairs, empty, too_long = [0] * len(paths), 0, 0
    with tqdm(total=sum(lines), desc="tokenising", unit="pair", unit_scale=True, disable=None, delay=2) as progress:
        for block in _blocks([side.codec for side in sides], max_length, files, sum(lines)):
            for side, tokenized in zip(sides, block.sides, strict=True):
                side.append(tokenized, is_corpus=block.file == 0)
            count = len(block.sides[0].lengths)
            pairs[block.file] += count
            empty, too_long = empty + block.empty, too_long + block.too_long
            progress.update(count + block.empty + block.too_long)
    return pairs, Skipped(empty, too_long, max_length)


def _blocks(
    codecs: list[Codec], max_length: int, files: Iterable[tuple[Iterator[str], Iterator[str]]], count: int
) -> Iterator[Block]:
    """The blocks of files with `count` lines, in order. Pairs have 1 to `max_length` tokens. Few take one process."""

    def jobs() -> Iterator[tuple[list[Codec], int, int, list[list[str]]]]:
        for number, (source, target) in enumerate(files):
            while lines := list(islice(source, LINES)):
                yield codecs, max_length, number, [lines, list(islice(target, LINES))]

    return map_in_processes(_tokenize_block, jobs()) if count > LINES else starmap(_tokenize_block, jobs())


def _tokenize_block(codecs: list[Codec], max_length: int, file: int, lines: list[list[str]]) -> Block:
    sides = [[one.tokenize(line) for line in side] for one, side in zip(codecs, lines, strict=True)]
    full = [pair for pair in zip(*sides, strict=True) if all(pair)]
    usable = [pair for pair in full if max(map(len, pair)) <= max_length]
    tokenized = [_with_indices([pair[side] for pair in usable]) for side in (0, 1)]
    return Block(file, tokenized, len(lines[0]) - len(full), len(full) - len(usable))


def _with_indices(sentences: list[list[str]]) -> TokenizedSide:
    counts = Counter(chain.from_iterable(sentences))
    index = {token: number for number, token in enumerate(counts)}
    tokens = [index[token] for sentence in sentences for token in sentence]
    return TokenizedSide(counts, np.array(tokens, dtype=np.int32), np.array([*map(len, sentences)], dtype=np.int32))


def _vocabularies(config: DataConfig, sides: Sequence[SideOfStore]) -> list[Vocabulary]:
    counts = [side.counts for side in sides]
    if config.joint_vocabulary:
        counts = [counts[0] + counts[1]] * 2
    tags = [extra.tag for extra in config.source.extra if extra.tag is not None]
    source, target = (
        build_vocabulary(counter, side.config.min_frequency, side.config.vocabulary_size)
        for counter, side in zip(counts, sides, strict=True)
    )
    return [with_tags(source, tags), with_tags(target, tags if config.joint_vocabulary else [])]
