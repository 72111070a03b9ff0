"""From two texts to a store: subwords, tokens, vocabularies, ids. The text is never in memory all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nmt.config.data import DataConfig, SideConfig
from nmt.data.augmentation import MonolingualText, augmentation_of
from nmt.data.blocks import tokenize_pairs
from nmt.data.store import Store, building_folder, keep_store, open_store
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.files import report_write_errors
from nmt.text.codec import Codec
from nmt.text.corpus import Skipped, check_pairs, iterate_lines
from nmt.text.tokenizers import TOKENIZERS, make_tokenizer
from nmt.text.vocabulary import Vocabulary, build_vocabulary, with_tags

SUBWORD_LINES = 500_000  # of a side, at most, that a subword model is trained on: every n-th line
ROWS_AT_ONCE = 1 << 17
LINES_WITHOUT_A_BAR = 100_000


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

    def write(self, folder: Path, name: str, rows: NDArray[np.bool_], lookup: NDArray[Any]) -> None:
        """Write what `Store.rows(name)` reads: of the kept rows, what `lookup` has for each value.

        The file is written, not mapped: on a full disk that is an error, and not the end of the process.
        """
        ends = self.lengths[rows].cumsum(dtype=np.int64)
        np.save(folder / f"{name}_ends.npy", ends)
        header = {
            "descr": np.lib.format.dtype_to_descr(lookup.dtype),
            "fortran_order": False,
            "shape": (int(ends[-1]),),
        }
        with (folder / f"{name}.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for values in self.kept(rows):
                file.write(lookup[values].tobytes())


@dataclass
class SideText:
    """One side of the pairs of files while its store is built."""

    name: str
    config: SideConfig
    codec: Codec  # its vocabulary is empty until it is learnt
    tokens: RawRows  # as indices into `entries`
    text: RawRows  # what the tokens spell, in UTF-8; nothing if it is not needed
    entries: dict[str, int] = field(default_factory=dict)  # distinct tokens, in the order of their first appearance


def build(
    config: DataConfig,
    paths: Sequence[tuple[Path, Path]],
    monolingual: Sequence[MonolingualText | None],
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
        lines = [check_pairs(*pair) for pair in paths]
        initial = codecs or _untrained_codecs(config, paths[0], monolingual, lines[0])
        with report_write_errors(folder), ExitStack() as stack:
            sides = [
                SideText(
                    *(name, side, codec),
                    tokens=RawRows(stack.enter_context(TemporaryFile(dir=folder)), np.int32),
                    text=RawRows(stack.enter_context(TemporaryFile(dir=folder)), np.uint8),
                )
                for (name, side), codec in zip(config.sides, initial, strict=True)
            ]
            with_text = [side.config.is_drawn or augmentation_of(config).rewrites(side.name) for side in sides]
            _tokenize(sides, paths, (with_text[0], with_text[1]), sum(lines))
            kept, skipped = _usable(sides[0].tokens.lengths, sides[1].tokens.lengths, config.max_length)
            of_corpus = kept & (np.arange(len(kept)) < lines[0])
            if not of_corpus.any():
                raise UserError(f"data: no training pair is left ({skipped}); check the files and data.max_length")
            if codecs is not None:
                vocabularies = [codec.vocabulary for codec in codecs]
            else:
                vocabularies = _vocabularies(config, sides, monolingual, of_corpus)
            for side, vocabulary, has_text in zip(sides, vocabularies, with_text, strict=True):
                ids = np.array(vocabulary.encode(side.entries), dtype=np.min_scalar_type(len(vocabulary)))
                side.tokens.write(folder, side.name, kept, ids)
                if has_text:
                    side.text.write(folder, f"{side.name}_text", kept, np.arange(256, dtype=np.uint8))
                model = np.frombuffer(side.codec.subword_model or b"", dtype=np.uint8)
                np.save(folder / f"{side.name}_model.npy", model)
        meta = {f"{side.name}_tokens": vocabulary.tokens for side, vocabulary in zip(sides, vocabularies, strict=True)}
        pairs = [int(rows.sum()) for rows in np.split(kept, np.cumsum(lines)[:-1])]
        dropped = [text and text.dropped() for text in monolingual]
        return keep_store(folder, path, {**meta, "skipped": asdict(skipped), "pairs": pairs, "dropped": dropped})


def _untrained_codecs(
    config: DataConfig, paths: tuple[Path, Path], monolingual: Sequence[MonolingualText | None], lines: int
) -> list[Codec]:
    """Each side's tokenizer, and the subword model that it has learnt; with a joint vocabulary one and the same model.

    The vocabularies are empty.
    """
    codecs: list[Codec] = []
    for (name, side), path, more in zip(config.sides, paths, monolingual, strict=True):
        tokenizer = TOKENIZERS[side.tokenizer]
        with prefix_errors_with(f"data.{name}."):
            if config.joint_vocabulary and codecs:
                model = codecs[0].subword_model
            elif tokenizer.learns:
                extra = [text for text in (monolingual if config.joint_vocabulary else [more]) if text is not None]
                most = max([lines, *(sum(1 for _ in text) for text in extra)])
                files = map(iterate_lines, paths if config.joint_vocabulary else [path])
                text = list(islice(chain(*files, *extra), 0, None, -(-most // SUBWORD_LINES)))
                model = tokenizer.learn(text, side.lowercase, side.component("tokenizer"))
            else:
                model = None
            made = make_tokenizer(side.tokenizer, side.language, side.lowercase, model)
        codecs.append(Codec(made, Vocabulary(()), model, side.language))
    return codecs


def _tokenize(
    sides: Sequence[SideText], paths: Sequence[tuple[Path, Path]], with_text: tuple[bool, bool], lines: int
) -> None:
    """Append the tokens of all files to the sides, and their text where it is asked for."""
    source, target = sides
    texts = [chain.from_iterable(map(iterate_lines, files)) for files in zip(*paths, strict=True)]
    tokenizers = (source.codec.tokenizer, target.codec.tokenizer)
    blocks = tokenize_pairs(tokenizers, (texts[0], texts[1]), with_text)
    quiet = True if lines < LINES_WITHOUT_A_BAR else None  # None: where there is no terminal
    with tqdm(total=lines, desc="tokenising", unit="pair", unit_scale=True, disable=quiet) as progress:
        for pair in blocks:
            for block, side in zip(pair, sides, strict=True):
                indices = [side.entries.setdefault(token, len(side.entries)) for token in block.entries]
                side.tokens.append(np.array(indices, dtype=np.int32)[block.tokens], block.lengths)
                side.text.append(block.text, block.text_lengths)
            progress.update(len(pair[0].lengths))


def _usable(source: NDArray[np.int32], target: NDArray[np.int32], max_length: int) -> tuple[NDArray[np.bool_], Skipped]:
    """Which pairs have 1 to `max_length` tokens on both sides, and the count of the others."""
    empty = (source == 0) | (target == 0)
    too_long = ~empty & (np.maximum(source, target) > max_length)
    return ~(empty | too_long), Skipped(int(empty.sum()), int(too_long.sum()), max_length)


def _vocabularies(
    config: DataConfig,
    sides: Sequence[SideText],
    monolingual: Sequence[MonolingualText | None],
    kept: NDArray[np.bool_],
) -> list[Vocabulary]:
    """The vocabularies of the kept rows and of the monolingual text."""
    counters, augmentation = [], augmentation_of(config)
    for side, more in zip(sides, monolingual, strict=True):
        counts = np.zeros(len(side.entries), dtype=np.int64)
        for values in side.tokens.kept(kept):
            counts += np.bincount(values, minlength=len(counts))
        counter = Counter({token: count for token, count in zip(side.entries, counts.tolist(), strict=True) if count})
        if side.config.is_drawn or augmentation.drawn_fields(side.name):  # any subword may be drawn
            counter.update(dict.fromkeys(side.codec.tokenizer.subwords(), side.config.min_frequency))
        counter.update(token for line in more or () for token in side.codec.tokenizer.tokenize(line))
        counters.append(counter)
    if config.joint_vocabulary:
        counters = [counters[0] + counters[1]] * 2
    tags = [extra.tag for extra in config.source.extra if extra.tag is not None]
    source, target = (
        build_vocabulary(counter, side.config.min_frequency, side.config.vocabulary_size)
        for counter, side in zip(counters, sides, strict=True)
    )
    return [with_tags(source, tags), with_tags(target, tags if config.joint_vocabulary else [])]
