"""From two texts to a store: subwords, tokens, vocabularies, ids. The text is never in memory all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nmt.augment.monolingual import Monolingual
from nmt.config.data import DataConfig
from nmt.data.blocks import tokenize_pairs
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

MonolingualTexts = tuple[Monolingual | None, Monolingual | None]  # of source and target


@dataclass(frozen=True)
class SomeLines:
    """Every `step`-th line of some files and of other text, one after the other. They can be read more than once."""

    paths: tuple[Path, ...]
    others: tuple[Monolingual, ...]
    step: int

    def __iter__(self) -> Iterator[str]:
        return islice(chain(chain.from_iterable(map(iterate_lines, self.paths)), *self.others), 0, None, self.step)


@dataclass
class RawRows:
    """Rows of values in a temporary file, one after the other, those of unusable pairs included."""

    file: IO[bytes]
    dtype: type[np.generic]  # of a value
    blocks: list[NDArray[np.int32]] = field(default_factory=list)  # the lengths of the rows

    def append(self, values: NDArray[Any], lengths: NDArray[np.int32]) -> None:
        self.file.write(values.astype(self.dtype).tobytes())
        self.blocks.append(lengths)

    @property
    def lengths(self) -> NDArray[np.int32]:
        return np.concatenate(self.blocks)

    def kept(self, rows: NDArray[np.bool_]) -> Iterator[NDArray[Any]]:
        """The values of some rows, many rows at a time."""
        self.file.seek(0)
        lengths = self.lengths
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            some = slice(begin, begin + ROWS_AT_ONCE)
            size = int(lengths[some].sum()) * np.dtype(self.dtype).itemsize
            values = np.frombuffer(self.file.read(size), dtype=self.dtype)
            yield values[np.repeat(rows[some], lengths[some])]


def build(
    config: DataConfig,
    paths: list[tuple[Path, Path]],
    monolingual: MonolingualTexts,
    path: Path,
    codecs: tuple[Codec, Codec] | None = None,
) -> Store:
    """Build the store of pairs of files at `path`, unless another run has just built it.

    Subwords and vocabularies are learnt from the first pair of files and the sides' monolingual text, unless `codecs`
    have them. Raises `UserError` as `load_training_set` does.
    """
    with building_folder(path) as folder:
        if (store := open_store(path, quiet=True)) is not None:
            return store
        meta = _write_arrays(config, paths, monolingual, folder, codecs)
        return keep_store(folder, path, meta | {"dropped": [text and text.dropped() for text in monolingual]})


def _write_arrays(
    config: DataConfig,
    paths: list[tuple[Path, Path]],
    monolingual: MonolingualTexts,
    folder: Path,
    codecs: tuple[Codec, Codec] | None,
) -> dict[str, Any]:
    """Write the store's arrays into a folder; returns the rest of it."""
    lines = [check_pairs(*pair) for pair in paths]
    sides = (config.source, config.target)
    if codecs is not None:
        models, tokenizers = [codec.subword_model for codec in codecs], [codec.tokenizer for codec in codecs]
    else:
        models = _subword_models(config, paths[0], monolingual, lines[0])
        tokenizers = [
            make_tokenizer(side.tokenizer, side.language, side.lowercase, model)
            for side, model in zip(sides, models, strict=True)
        ]
    with report_write_errors(folder), ExitStack() as stack:
        tokens, texts = (
            [RawRows(stack.enter_context(TemporaryFile(dir=folder)), dtype) for _ in SIDES]
            for dtype in (np.int32, np.uint8)
        )
        entries = _tokenize(config, tokenizers, paths, tokens, texts, sum(lines))
        kept, skipped = _usable(tokens[0].lengths, tokens[1].lengths, config.max_length)
        of_corpus = kept & (np.arange(len(kept)) < lines[0])
        if not of_corpus.any():
            raise UserError(f"data: no training pair is left ({skipped}); check the files and data.max_length")
        if codecs is not None:
            vocabularies = [codec.vocabulary for codec in codecs]
        else:
            vocabularies = _vocabularies(config, tokenizers, entries, tokens, monolingual, of_corpus)
        for n, (name, vocabulary) in enumerate(zip(SIDES, vocabularies, strict=True)):
            ids = np.array(vocabulary.encode(entries[n]), dtype=np.min_scalar_type(len(vocabulary)))
            _write_rows(folder, name, tokens[n], kept, ids)
            if sides[n].is_drawn:
                _write_rows(folder, f"{name}_text", texts[n], kept, np.arange(256, dtype=np.uint8))
            np.save(folder / f"{name}_model.npy", np.frombuffer(models[n] or b"", dtype=np.uint8))
    pairs = [int(rows.sum()) for rows in np.split(kept, np.cumsum(lines)[:-1])]
    lists = {f"{name}_tokens": list(vocabulary.tokens) for name, vocabulary in zip(SIDES, vocabularies, strict=True)}
    return {**lists, "skipped": asdict(skipped), "pairs": pairs}


def _subword_models(
    config: DataConfig, paths: tuple[Path, Path], monolingual: MonolingualTexts, lines: int
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
                models.append(tokenizer.learn(text, side.lowercase, side.component("tokenizer")))
    return models


def _tokenize(
    config: DataConfig,
    tokenizers: list[Tokenizer],
    paths: list[tuple[Path, Path]],
    tokens: list[RawRows],
    texts: list[RawRows],
    lines: int,
) -> list[list[str]]:
    """Write both sides' tokens, as indices into the lists of their distinct tokens, and their text; return the lists.

    These are in the order of first appearance.
    """
    indices: tuple[dict[str, int], dict[str, int]] = ({}, {})
    sources, targets = (chain.from_iterable(map(iterate_lines, side)) for side in zip(*paths, strict=True))
    with_text = (config.source.is_drawn, config.target.is_drawn)
    blocks = tokenize_pairs((tokenizers[0], tokenizers[1]), (sources, targets), with_text)
    quiet = True if lines < LINES_WITHOUT_A_BAR else None  # None: where there is no terminal
    with tqdm(total=lines, desc="tokenising", unit="pair", unit_scale=True, disable=quiet) as progress:
        for pair in blocks:
            for block, index, side, text in zip(pair, indices, tokens, texts, strict=True):
                lookup = np.array([index.setdefault(token, len(index)) for token in block.entries], dtype=np.int32)
                side.append(lookup[block.tokens], block.lengths)
                text.append(block.text, block.text_lengths)
            progress.update(len(pair[0].lengths))
    return [list(index) for index in indices]


def _usable(source: NDArray[np.int32], target: NDArray[np.int32], max_length: int) -> tuple[NDArray[np.bool_], Skipped]:
    """Which pairs have 1 to `max_length` tokens on both sides, and the count of the others."""
    empty = (source == 0) | (target == 0)
    too_long = ~empty & (np.maximum(source, target) > max_length)
    return ~(empty | too_long), Skipped(int(empty.sum()), int(too_long.sum()), max_length)


def _vocabularies(
    config: DataConfig,
    tokenizers: list[Tokenizer],
    entries: list[list[str]],
    tokens: list[RawRows],
    monolingual: MonolingualTexts,
    kept: NDArray[np.bool_],
) -> list[Vocabulary]:
    sides = (config.source, config.target)
    counters = []
    for side, tokenizer, names, rows, more in zip(sides, tokenizers, entries, tokens, monolingual, strict=True):
        counts = np.zeros(len(names), dtype=np.int64)
        for values in rows.kept(kept):
            counts += np.bincount(values, minlength=len(names))
        counter = Counter({token: int(count) for token, count in zip(names, counts, strict=True) if count})
        if side.is_drawn or config.copying is not None:  # any subword may be drawn
            counter.update(dict.fromkeys(tokenizer.subwords(), side.min_frequency))
        counter.update(token for line in more or () for token in tokenizer.tokenize(line))
        counters.append(counter)
    if config.joint_vocabulary:
        counters = [counters[0] + counters[1]] * 2
    tags = [extra.tag for extra in config.source.extra if extra.tag is not None]
    return [
        with_tags(build_vocabulary(counter, side.min_frequency, side.vocabulary_size), side_tags)
        for counter, side, side_tags in zip(counters, sides, (tags, tags * config.joint_vocabulary), strict=True)
    ]


def _write_rows(folder: Path, name: str, raw: RawRows, kept: NDArray[np.bool_], lookup: NDArray[Any]) -> None:
    """Write what `Store.rows(name)` reads: of the kept rows, what `lookup` has for each value.

    The file is written, not mapped: on a full disk that is an error, and not the end of the process.
    """
    ends = raw.lengths[kept].cumsum(dtype=np.int64)
    np.save(folder / f"{name}_ends.npy", ends)
    dtype = np.lib.format.dtype_to_descr(lookup.dtype)
    with (folder / f"{name}.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": (int(ends[-1]),)})
        for values in raw.kept(kept):
            file.write(lookup[values].tobytes())
