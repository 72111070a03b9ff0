"""An index of a model's states on its training text: in which sentences is a word most like this one here?

As in Seq2Seq-Vis (Strobelt et al. 2018). Vectors are of length 1 and kept in 16 bits; likeness is their cosine with
each of them, so that the nearest are the nearest. The file is NumPy's .npz, with plain arrays alone.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from nmt.model.seq2seq import Seq2Seq
from nmt.page.neighbours.states import states
from nmt.system import files
from nmt.system.errors import UserError
from nmt.translator import Translator

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
SUFFIX = ".index"


@dataclass(frozen=True)
class Neighbour:
    """A word in a training pair: both sides' tokens, the word's place on its side, and how like it is, from −1 to 1."""

    source: list[str]
    target: list[str]
    place: int
    likeness: float


@dataclass(frozen=True)
class Index:
    """States of both sides by rows; `ends` are the numbers of the rows behind each pair's last. Made by `build`."""

    pairs: list[tuple[list[str], list[str]]]
    vectors: dict[Side, NDArray[np.float16]]
    ends: dict[Side, NDArray[np.int64]]
    model: str

    def nearest(self, side: Side, vector: Float[Tensor, " D"], count: int) -> list[Neighbour]:
        """The words whose states point most in this vector's direction, the nearest first."""
        query, vectors = normalize(vector, dim=0), torch.from_numpy(self.vectors[side])
        roughly = (vectors @ query.half()).float()  # fast, and right to three digits
        near = roughly.topk(min(2 * count, len(vectors))).indices
        best = (vectors[near].float() @ query).topk(min(count, len(near)))
        neighbours = []
        for row, alike in zip(near[best.indices].tolist(), best.values.tolist(), strict=True):
            pair = int(np.searchsorted(self.ends[side], row, side="right"))
            begin = int(self.ends[side][pair - 1]) if pair else 0
            neighbours.append(Neighbour(*self.pairs[pair], row - begin, alike))
        return neighbours


def build(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Index:
    """The index of these sentences and their translations, by a model that reads and writes them.

    Raises `UserError` for an ensemble, and if nothing is left of the pairs.
    """
    model = seq2seq(translator)
    limit = translator.search.max_source_length
    texts = [
        (translator.source.tokenize(source)[:limit], translator.target.tokenize(target)[:limit])
        for source, target in pairs
    ]
    texts = sorted((pair for pair in texts if all(pair)), key=lambda pair: (-len(pair[0]), -len(pair[1])))
    if not texts:
        raise UserError("nothing to index: all pairs of sentences have an empty side")
    ids = [_ids(translator, *pair) for pair in texts]
    ends = {side: np.cumsum([len(pair[number]) for pair in texts], dtype=np.int64) for number, side in enumerate(SIDES)}
    unit = [[normalize(rows, dim=1).half().numpy() for rows in both] for both in states(model, ids)]
    vectors = {side: np.concatenate(rows) for side, rows in zip(SIDES, zip(*unit, strict=True), strict=True)}
    return Index(texts, vectors, ends, digest(model))


def save(index: Index, path: Path) -> None:
    """Write an index completely or not at all. Raises `UserError` if the file cannot be written."""
    text = json.dumps({"model": index.model, "pairs": index.pairs}, ensure_ascii=False).encode()
    arrays: dict[str, NDArray[Any]] = {"text": np.frombuffer(text, np.uint8)}
    for side in SIDES:
        arrays |= {f"{side}_vectors": index.vectors[side], f"{side}_ends": index.ends[side]}
    with files.replace_atomically(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes no names from a mapping


def load(path: Path, translator: Translator) -> Index:
    """Read an index of this translator's model.

    Raises `UserError` for a file that cannot be read, is damaged, or belongs to another model.
    """
    try:
        files.require_regular(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            text = json.loads(arrays["text"].tobytes())
            vectors = {side: arrays[f"{side}_vectors"] for side in SIDES}
            ends = {side: arrays[f"{side}_ends"] for side in SIDES}
        pairs = [(list(map(str, source)), list(map(str, target))) for source, target in text["pairs"]]
        model = str(text["model"])
        for number, side in enumerate(SIDES):
            lengths = np.cumsum([len(pair[number]) for pair in pairs])
            if vectors[side].dtype != np.float16 or not np.array_equal(ends[side], lengths) or not len(pairs):
                raise ValueError
            if vectors[side].ndim != 2 or len(vectors[side]) != lengths[-1]:
                raise ValueError
    except (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error):
        raise UserError(f"{path} is not an index, or damaged: make it again with nmt index") from None
    if model != digest(seq2seq(translator)):
        raise UserError(f"{path} is the index of another model: make it again with nmt index, or remove it")
    return Index(pairs, vectors, ends, model)


def seq2seq(translator: Translator) -> Seq2Seq:
    """The model whose states are compared. Raises `UserError` for an ensemble."""
    if not isinstance(translator.model, Seq2Seq):
        raise UserError("ensembles are not supported here: give one checkpoint")
    return translator.model


def vector(translator: Translator, source: str, target: Sequence[str], side: Side, place: int) -> Float[Tensor, " D"]:
    """The state of one word of a sentence, or of the tokens of its translation.

    Raises `UserError` if there is no such word.
    """
    tokens = translator.source.tokenize(source)[: translator.search.max_source_length]
    most = len(tokens if side == "source" else target)
    if not (place < most and tokens):
        raise UserError(f"place: {place}, and this {side} has {most} tokens, counted from 0")
    [both] = states(seq2seq(translator), [_ids(translator, tokens, target)])
    return both[SIDES.index(side)][place]


def digest(model: Seq2Seq) -> str:
    """A hash of a model's weights."""
    total = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        total.update(name.encode())
        total.update(weight.detach().cpu().contiguous().numpy().tobytes())
    return total.hexdigest()


def _ids(translator: Translator, source: Sequence[str], target: Sequence[str]) -> tuple[list[int], list[int]]:
    return translator.source.vocabulary.encode(list(source)), translator.target.vocabulary.encode(list(target))
