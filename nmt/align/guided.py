"""The links of the training pairs, for guided alignment: of a file, or made from the text.

Links of a file are between words, which white space separates; the model's tokens take them over from the words that
they are a part of. Links that are made from the text are between tokens.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from nmt.align import hmm, lexicon, symmetrization
from nmt.align.config import LEXICAL, GuidedAlignmentConfig
from nmt.config.run import Config
from nmt.data.splits import training_paths
from nmt.data.store import Rows, append, build_store, open_store
from nmt.data.training_set import TrainingSet
from nmt.decoding.word_alignment import token_shares
from nmt.evaluation.alignment import Links, read_links
from nmt.system.errors import UserError
from nmt.text.codec import Codec
from nmt.text.corpus import iterate_lines


def links_of(pairs: TrainingSet, config: Config) -> Rows:
    """The links of each row of a training set: pairs of positions (source token, target token).

    Those of `lexical` are kept in `data.folder/cache`. Pairs of `data.source.extra` have none with a file. Raises
    `UserError` for a model without attention, and for a file whose links do not fit the text.
    """
    guided = config.training.guided_alignment
    assert isinstance(guided, GuidedAlignmentConfig)
    if config.model.attention.wiring == "none":
        raise UserError("training.guided_alignment needs attention: set model.attention.wiring to bahdanau or luong")
    links = _lexical(pairs) if guided.links == LEXICAL else _links_of_file(pairs, Path(guided.links))
    return with_empty_word(links, *(rows.lengths for rows in pairs.rows))


def with_empty_word(links: Rows, source_lengths: Int[np.ndarray, " P"], target_lengths: Int[np.ndarray, " P"]) -> Rows:
    """The links, and one to the source's `<eos>` for each target position without any, in pairs that have links.

    `<eos>` so takes the place of the empty word of Brown et al. (1993).
    """
    pair = np.repeat(np.arange(len(links)), links.lengths)
    ends = target_lengths.cumsum(dtype=np.int64)
    owner = np.repeat(np.arange(len(links)), target_lengths)
    position = np.arange(ends[-1]) - (ends - target_lengths)[owner]
    is_linked = np.zeros(ends[-1], dtype=bool)
    is_linked[(ends - target_lengths)[pair] + links.values[:, 1]] = True
    empty = ~is_linked & (links.lengths[owner] > 0)
    to_end = np.stack((source_lengths[owner[empty]], position[empty]), axis=1)
    owners = np.concatenate((pair, owner[empty]))
    values = np.concatenate((links.values, to_end))[np.argsort(owners, kind="stable")]
    return Rows(values, np.bincount(owners, minlength=len(links)).astype(np.int32))


def _lexical(pairs: TrainingSet) -> Rows:
    digest = hashlib.sha256("".join(inspect.getsource(module) for module in (hmm, lexicon, symmetrization)).encode())
    for array in (array for rows in pairs.rows for array in (rows.values, rows.lengths)):
        digest.update(array.tobytes())
    path = Path(pairs.config.folder) / "cache" / f"links-{digest.hexdigest()[:32]}"

    def fill(folder: Path) -> dict[str, Any]:
        tokens = pairs.source.vocabulary.tokens, pairs.target.vocabulary.tokens
        links = lexicon.lexical_links(*pairs.rows, tokens=tokens)
        append(folder, "links", links.values.ravel())
        append(folder, "counts", links.lengths)
        return {}

    arrays = (open_store(path) or build_store(path, fill)).arrays
    return Rows(arrays["links"].reshape(-1, 2), arrays["counts"])


def _links_of_file(pairs: TrainingSet, path: Path) -> Rows:
    texts = training_paths(pairs.config)[0]
    links = read_links(path)
    lines = [list(iterate_lines(text)) for text in texts]
    if len(links) != len(lines[0]):
        raise UserError(f"{path} has {len(links)} lines, and the training text {len(lines[0])}: give its own links")
    rows = list(_of_usable(pairs, path, list(zip(*lines, links, strict=True))))
    rows += [np.zeros((0, 2), dtype=np.int32)] * (len(pairs.rows[0]) - len(rows))
    return Rows(np.concatenate(rows), np.array([*map(len, rows)], dtype=np.int32))


def _of_usable(pairs: TrainingSet, path: Path, lines: list[tuple[str, str, Links]]) -> Iterator[Int[np.ndarray, "L 2"]]:
    """The links of the lines that are training pairs, between their tokens."""
    for number, (source, target, of_line) in enumerate(lines, start=1):
        sizes = len(source.split()), len(target.split())
        for s, t in of_line.possible:
            if s >= sizes[0] or t >= sizes[1]:
                words = f"a pair of {sizes[0]} source and {sizes[1]} target words, counted from 0"
                raise UserError(f"{path}, line {number}: link {s}-{t} points outside {words}: give the text's links")
        lengths = [len(side.tokenize(text)) for side, text in ((pairs.source, source), (pairs.target, target))]
        if min(lengths) > 0 and max(lengths) <= pairs.config.max_length:
            yield _between_tokens(_words(pairs.source, source), _words(pairs.target, target), of_line)


def _words(codec: Codec, text: str) -> Int[np.ndarray, " T"]:
    """The word of each token: the one with the most of its characters."""
    shares = token_shares(codec.surfaces(text), codec.normalized(text).split())
    return shares.argmax(axis=0)


def _between_tokens(
    source: Int[np.ndarray, " S"], target: Int[np.ndarray, " T"], links: Links
) -> Int[np.ndarray, "L 2"]:
    """All pairs of tokens whose words are linked."""
    is_linked = np.zeros((source.max() + 1, target.max() + 1), dtype=bool)
    for s, t in links.possible:
        if s < is_linked.shape[0] and t < is_linked.shape[1]:
            is_linked[s, t] = True
    return np.argwhere(is_linked[source][:, target]).astype(np.int32)
