"""From two texts to a store: subwords, tokens, vocabularies, ids. The text is never in memory all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nmt.augment.monolingual import Monolingual
from nmt.config.data import DataConfig
from nmt.data.numbering import Block, number_pairs
from nmt.data.store import Store, building_folder, keep_store, open_store
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.files import report_write_errors
from nmt.text.codec import Codec
from nmt.text.corpus import Skipped, check_pairs, iterate_lines
from nmt.text.tokenizers import TOKENIZERS, Tokenizer, make_tokenizer
from nmt.text.vocabulary import Vocabulary, build_vocabulary, with_tags

SIDES = ("source", "target")
SUBWORD_LINES = 500_000  # of a side, at most, that a subword model is trained on: every n-th line
ROWS_AT_ONCE = 1 << 17
LINES_WITHOUT_A_BAR = 100_000


@dataclass(frozen=True)
class SomeLines:
    """Every `step`-th line of some files and of other text, one after the other. They can be read more than once."""

    paths: tuple[Path, ...]
    others: tuple[Monolingual, ...]
    step: int

    def __iter__(self) -> Iterator[str]:
        return islice(chain(chain.from_iterable(map(iterate_lines, self.paths)), *self.others), 0, None, self.step)


class RawRows(NamedTuple):
    """Rows of values in a file, one after the other, those of unusable pairs included."""

    path: Path
    kind: type[np.generic]  # of a value
    lengths: NDArray[np.int32]

    def kept(self, rows: NDArray[np.bool_]) -> Iterator[NDArray[Any]]:
        """The values of some rows, many rows at a time."""
        with self.path.open("rb") as file:
            for begin in range(0, len(rows), ROWS_AT_ONCE):
                some = slice(begin, begin + ROWS_AT_ONCE)
                values = np.fromfile(file, dtype=self.kind, count=int(self.lengths[some].sum()))
                yield values[np.repeat(rows[some], self.lengths[some])]


class Numbered(NamedTuple):
    """One side's tokens as numbers of its types, which are in the order of their first appearance."""

    types: list[str]
    tokens: RawRows
    text: RawRows  # what they spell, in UTF-8; nothing if it is not needed


def build(
    config: DataConfig,
    paths: list[tuple[Path, Path]],
    monolingual: tuple[Monolingual | None, Monolingual | None],
    path: Path,
    known: tuple[Codec, Codec] | None = None,
) -> Store:
    """Build the store of pairs of files at `path`, unless another run has just built it.

    Subwords and vocabularies are those of the first pair and of the sides' monolingual text, or of `known` codecs.
    Raises `UserError` as
    `load_training_set` does.
    """
    with building_folder(path) as folder:
        return open_store(path, quiet=True) or _build(config, paths, monolingual, folder, path, known)


def _build(
    config: DataConfig,
    paths: list[tuple[Path, Path]],
    monolingual: tuple[Monolingual | None, Monolingual | None],
    folder: Path,
    path: Path,
    known: tuple[Codec, Codec] | None,
) -> Store:
    lines = [check_pairs(*pair) for pair in paths]
    sides = (config.source, config.target)
    if known is not None:
        models, tokenizers = [codec.subword_model for codec in known], [codec.tokenizer for codec in known]
    else:
        models = _subword_models(config, paths[0], monolingual, lines[0])
        tokenizers = [
            make_tokenizer(side.tokenizer, side.language, side.lowercase, model)
            for side, model in zip(sides, models, strict=True)
        ]
    with report_write_errors(folder):
        with_text = tuple(side.is_drawn for side in sides)
        numbered = _number(tokenizers, paths, with_text, folder, sum(lines))
        kept, skipped = _usable(numbered[0].tokens.lengths, numbered[1].tokens.lengths, config.max_length)
        of_corpus = kept & (np.arange(len(kept)) < lines[0])
        if not of_corpus.any():
            raise UserError(f"data: no training pair is left ({skipped}); check the files and data.max_length")
        if known is not None:
            vocabularies = [codec.vocabulary for codec in known]
        else:
            vocabularies = _vocabularies(config, tokenizers, numbered, monolingual, of_corpus)
        for name, side, vocabulary, model in zip(SIDES, numbered, vocabularies, models, strict=True):
            ids = np.array(vocabulary.encode(side.types), dtype=np.min_scalar_type(len(vocabulary)))
            _write_rows(folder, name, side.tokens, kept, ids)
            if len(side.text.lengths):
                _write_rows(folder, f"{name}_text", side.text, kept, np.arange(256, dtype=np.uint8))
            side.tokens.path.unlink()
            side.text.path.unlink()
            np.save(folder / f"{name}_model.npy", np.frombuffer(model or b"", dtype=np.uint8))
    types = {f"{name}_types": list(found.tokens) for name, found in zip(SIDES, vocabularies, strict=True)}
    pairs = [int(part.sum()) for part in np.split(kept, np.cumsum(lines)[:-1])]
    dropped = [text and text.dropped() for text in monolingual]
    return keep_store(folder, path, {**types, "skipped": asdict(skipped), "pairs": pairs, "dropped": dropped})


def _subword_models(
    config: DataConfig, paths: tuple[Path, Path], monolingual: tuple[Monolingual | None, Monolingual | None], lines: int
) -> list[bytes | None]:
    """The model of each side whose tokenizer learns one; with a joint vocabulary one and the same."""
    models: list[bytes | None] = []
    for name, side, path, more in zip(SIDES, (config.source, config.target), paths, monolingual, strict=True):
        tokenizer = TOKENIZERS[side.tokenizer]
        if not tokenizer.learns:
            models.append(None)
        elif config.joint_vocabulary and models:
            models.append(models[0])
        else:
            others = tuple(filter(None, monolingual if config.joint_vocabulary else (more,)))
            most = max([lines, *(sum(1 for _ in other) for other in others)])
            text = SomeLines(paths if config.joint_vocabulary else (path,), others, -(-most // SUBWORD_LINES))
            with prefix_errors_with(f"data.{name}."):
                models.append(tokenizer.learn(text, side.lowercase, side.chosen("tokenizer")))
    return models


def _number(
    tokenizers: list[Tokenizer], paths: list[tuple[Path, Path]], with_text: tuple[bool, ...], folder: Path, lines: int
) -> list[Numbered]:
    """Tokenise both sides, and write their tokens' numbers and their text into files of the folder."""
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    lengths: tuple[list[NDArray[np.int32]], ...] = ([], [])
    text_lengths: tuple[list[NDArray[np.int32]], ...] = ([], [])
    names = [(folder / f"{name}.tokens", folder / f"{name}.text") for name in SIDES]
    files = [tuple(path.open("wb") for path in pair) for pair in names]
    sources, targets = (chain.from_iterable(map(iterate_lines, side)) for side in zip(*paths, strict=True))
    blocks = number_pairs((tokenizers[0], tokenizers[1]), (sources, targets), (with_text[0], with_text[1]))
    quiet = True if lines < LINES_WITHOUT_A_BAR else None  # None: where there is no terminal
    try:
        with tqdm(total=lines, desc="tokenising", unit="pair", unit_scale=True, disable=quiet) as progress:
            for pair in blocks:
                for side, block in enumerate(pair):
                    _append(block, numbers[side], *files[side])
                    lengths[side].append(block.lengths)
                    text_lengths[side].append(block.text_lengths)
                progress.update(len(pair[0].lengths))
    finally:
        for file in chain.from_iterable(files):
            file.close()
    return [
        Numbered(
            list(numbers[side]),
            RawRows(names[side][0], np.int32, np.concatenate(lengths[side])),
            RawRows(names[side][1], np.uint8, np.concatenate(text_lengths[side])),
        )
        for side in (0, 1)
    ]


def _append(block: Block, numbers: dict[str, int], tokens: IO[bytes], text: IO[bytes]) -> None:
    """Write a block's tokens by the numbers that they have in all blocks, and its text."""
    lookup = np.array([numbers.setdefault(token, len(numbers)) for token in block.types], dtype=np.int32)
    tokens.write(lookup[block.tokens].tobytes())
    text.write(block.text.tobytes())


def _usable(source: NDArray[np.int32], target: NDArray[np.int32], max_length: int) -> tuple[NDArray[np.bool_], Skipped]:
    """Which pairs have 1 to `max_length` tokens on both sides, and the count of the others."""
    empty = (source == 0) | (target == 0)
    too_long = ~empty & (np.maximum(source, target) > max_length)
    skipped = Skipped(int(empty.sum()), int(too_long.sum()), max_length)
    return ~(empty | too_long), skipped


def _vocabularies(
    config: DataConfig,
    tokenizers: list[Tokenizer],
    numbered: list[Numbered],
    monolingual: tuple[Monolingual | None, Monolingual | None],
    kept: NDArray[np.bool_],
) -> list[Vocabulary]:
    sides = (config.source, config.target)
    counters = []
    for config_side, tokenizer, side, more in zip(sides, tokenizers, numbered, monolingual, strict=True):
        counts = np.zeros(len(side.types), dtype=np.int64)
        for tokens in side.tokens.kept(kept):
            counts += np.bincount(tokens, minlength=len(counts))
        counter = Counter({token: int(count) for token, count in zip(side.types, counts, strict=True) if count})
        if config_side.is_drawn or config.copying is not None:
            least = config_side.min_frequency  # drawing may bring up any of them
            counter.update(dict.fromkeys(tokenizer.subwords(), least))
        counter.update(token for line in more or () for token in tokenizer.tokenize(line))
        counters.append(counter)
    if config.joint_vocabulary:
        counters = [counters[0] + counters[1]] * 2
    tags = [extra.tag for extra in config.source.extra if extra.tag is not None]
    return [
        with_tags(build_vocabulary(counter, side.min_frequency, side.vocabulary_size), of_side)
        for counter, side, of_side in zip(counters, sides, (tags, tags if config.joint_vocabulary else []), strict=True)
    ]


def _write_rows(folder: Path, name: str, raw: RawRows, kept: NDArray[np.bool_], lookup: NDArray[Any]) -> None:
    """Write what `Store.rows(name)` reads: of the kept rows, what `lookup` has for each value.

    The file is written, not mapped: on a full disk that is an error, and not the end of the process.
    """
    ends = raw.lengths[kept].cumsum(dtype=np.int64)
    np.save(folder / f"{name}_ends.npy", ends)
    kind = np.lib.format.dtype_to_descr(lookup.dtype)
    with (folder / f"{name}.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": (int(ends[-1]),)})
        for values in raw.kept(kept):
            file.write(lookup[values].tobytes())
