"""The pairs to learn from and the codecs learnt from them: made once for each text and setting, then kept on disk."""

from __future__ import annotations

import hashlib
import inspect
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.config.data import DataConfig
from nmt.data.augmentation import Augmentation, augmentation_of
from nmt.data.batching import Example
from nmt.data.building import build
from nmt.data.splits import training_paths
from nmt.data.store import Rows, Store, build_store, open_store
from nmt.system.errors import UserError
from nmt.text.codec import Codec
from nmt.text.corpus import Skipped, text_digest
from nmt.text.tokenizers import TOKENIZERS
from nmt.text.vocabulary import EOS, SPECIALS, Vocabulary

NOT_STORED = {"train", "validation", "test", "extra"}  # fields of a side about other text


@dataclass(frozen=True)
class TrainingSet:
    """The pairs that are learnt from, in the order of the text; those with a weight come as often as it says."""

    source: Codec
    target: Codec
    skipped: Skipped
    config: DataConfig
    store: Store
    text: str  # a digest of all of it, in its order
    links: Rows | None = None  # of each row: positions (source, target) that translate each other

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The row of each pair. Each file's rows come as often as its weight says."""
        ends = np.cumsum(self.store.meta["pairs"])
        files = np.split(np.arange(ends[-1], dtype=np.int32), ends[:-1])
        weights = [self.config.corpus_weight, *(extra.weight for extra in self.config.source.extra)]
        return np.concatenate(list(map(np.tile, files, weights)))

    @cached_property
    def tags(self) -> NDArray[np.int32]:
        """Of each row the id of the tag before its source, or −1 for none."""
        tags = [None, *(extra.tag for extra in self.config.source.extra)]
        ids = [-1 if tag is None else self.source.vocabulary.tokens.index(tag) for tag in tags]
        return np.repeat(np.array(ids, dtype=np.int32), self.store.meta["pairs"])

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """The ids of source and target."""
        return self.store.rows["source"], self.store.rows["target"]

    @cached_property
    def lengths(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Of each pair, source and target, in tokens, tags counted, without marks of beginning and end."""
        source = self.rows[0].lengths + (self.tags >= 0)
        return source[self.order], self.rows[1].lengths[self.order]

    @cached_property
    def target_counts(self) -> NDArray[np.int64]:
        """How often an epoch has each target token, marks of the end included."""
        rows = self.rows[1]
        times = np.repeat(np.bincount(self.order, minlength=len(rows)), rows.lengths)
        counts = np.bincount(rows.values, weights=times, minlength=len(self.target.vocabulary)).astype(np.int64)
        counts[EOS] += len(self)
        return counts

    @cached_property
    def augmentation(self) -> Augmentation:
        return augmentation_of(self.config)

    def corpus_rows(self) -> list[Rows]:
        """The ids of the corpus's own pairs, without those of `extra`."""
        count = self.store.meta["pairs"][0]
        return [Rows(rows.values[: rows.ends[count - 1]], rows.lengths[:count]) for rows in self.rows]

    @property
    def notes(self) -> list[str]:
        """What to report of the text: each `vocabulary_size` that it cannot give."""
        return [
            f"data.{name}.vocabulary_size: {side.vocabulary_size} is more than this text gives: using {size} tokens"
            for (name, side), codec in zip(self.config.sides, (self.source, self.target), strict=True)
            if (size := codec.tokenizer.size or len(codec.vocabulary) - len(SPECIALS)) < (side.vocabulary_size or 0)
        ]

    def examples(self, indices: Sequence[int] | NDArray[np.int32], draw: str) -> list[Example]:
        """The pairs with these indices, as augmentation changes their text and ids: alike for the same `draw`.

        The lengths are those of the text as it is.
        """
        rows, (source, target) = self.order[list(indices)].tolist(), self.rows
        before = [Example(source[row].tolist(), target[row].tolist()) for row in rows]
        pairs = self.augmentation.replace(before, draw, self.source, self.corpus_rows)
        if self.links is not None:  # which are those of the text as it is
            of_rows = zip(pairs, before, rows, strict=True)
            pairs = [replace(new, links=self.links[row]) if new == old else new for new, old, row in of_rows]
        for number, tag in enumerate(self.tags[rows].tolist()):
            if tag >= 0:
                pair = pairs[number]
                links = None if pair.links is None else pair.links + np.array([1, 0])
                pairs[number] = Example([tag, *pair.source], pair.target, links)
        return pairs


def load_training_set(config: DataConfig, codecs: tuple[Codec, Codec] | None = None) -> TrainingSet:
    """The training set of a corpus, which `data.folder/cache` keeps from one run to the next.

    Tokens are learnt from the text, unless `codecs` of source and target have them. Raises `UserError` if the corpus
    cannot be read, has no usable pair, or cannot give the vocabulary that is asked for.
    """
    paths = training_paths(config)
    files = [*chain.from_iterable(paths)]
    texts = [*map(text_digest, files)]
    augmentation = augmentation_of(config)
    monolingual = augmentation.texts()
    more = [text and [[*map(text_digest, text.paths)], sorted(text.held_out)] for text in monolingual]
    initial = [
        [codec.vocabulary.tokens, hashlib.sha256(codec.subword_model or b"").hexdigest()] for codec in codecs or ()
    ]
    path = Path(config.folder) / "cache" / f"pairs-{_key(config, augmentation, [texts, more, initial])}"

    def fill(folder: Path) -> dict[str, Any]:
        try:
            return build(config, augmentation, paths, monolingual, codecs, folder)
        finally:  # an error may come of it, too
            for file, before, now in zip(files, texts, map(text_digest, files), strict=True):
                if before != now:
                    raise UserError(f"{file} was changed while it was read: run again")

    stored = open_store(path) or build_store(path, fill)
    learnt = []
    for name, side in config.sides:
        model = stored.arrays[f"{name}_model"].tobytes() or None
        tokenizer = TOKENIZERS[side.tokenizer].make(side.language, side.lowercase, model)
        vocabulary = Vocabulary(tuple(stored.meta[f"{name}_tokens"]))
        learnt.append(Codec(tokenizer, vocabulary, model, side.language, config.normalize))
    weights = [config.corpus_weight, *([extra.weight, extra.tag] for extra in config.source.extra)]
    content = texts if weights == [1, *[[1, None]] * len(config.source.extra)] else [texts, weights]
    text = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return TrainingSet(learnt[0], learnt[1], Skipped(**stored.meta["skipped"]), config, stored, text)


def _key(config: DataConfig, augmentation: Augmentation, texts: list[Any]) -> str:
    """A hash of all that decides what is stored: code, installed packages, settings, texts."""
    package = Path(__file__).parents[1]
    folders = [*map(package.joinpath, ("data", "text", "formats")), Path(inspect.getfile(type(augmentation))).parent]
    files = {path for folder in folders for path in folder.rglob("*.py")}
    files |= {Path(inspect.getfile(TOKENIZERS[side.tokenizer])) for _, side in config.sides}
    code = [path.read_text(encoding="utf-8") for path in sorted(files)]
    packages = sorted(f"{package.name} {package.version}" for package in distributions())
    fields = [
        side.model_dump(exclude=NOT_STORED) | {"drawn": augmentation.drawn_fields(name) != []}
        for name, side in config.sides
    ]
    tags = [extra.tag for extra in config.source.extra]
    settings = [fields, config.joint_vocabulary, config.normalize, config.max_length, tags]
    content = [code, packages, unicodedata.unidata_version, settings, texts]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
