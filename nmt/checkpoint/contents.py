"""Checkpoints: one file that is enough to translate anywhere, and to go on training from.

It lies below translator and training because both read it. The file holds plain values and dense tensors alone, and is
read by `nmt.checkpoint.unpickling`, which knows nothing else: format, config, both codecs, the model's weights, and for
training its whole state. All of it is checked before use, because a file may come from anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from nmt.build import build_empty, fill, segment_ends
from nmt.checkpoint import file as checkpoint_file
from nmt.checkpoint.file import DamagedFile
from nmt.checkpoint.weights import check_weights, described, in_8_bits, restored
from nmt.config.data import SideConfig
from nmt.config.model import ModelConfig
from nmt.config.reading import differences, explain, parse_config
from nmt.config.run import Config
from nmt.model.seq2seq import Seq2Seq
from nmt.selection.lexical import Selection
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.values import is_unicode, shown
from nmt.text.codec import Codec
from nmt.text.vocabulary import SPECIALS

FORMAT, OLDEST = 3, 2  # that is written, and that is read: files of format 2 have no selection
_DROPOUT = {"dropout", "embedding_dropout", "word_dropout"}  # as they are called in any part of the model


class Loaded(NamedTuple):
    """A checkpoint's contents. `training` is the loop's state, or None where the file serves translation alone.

    `selection` is None where search takes the whole vocabulary. Below `threshold`, in nats per token, a translation is
    unlike those of the training's kind of text (`nmt.evaluation.calibration`); None if that is not known.
    """

    config: Config
    source: Codec
    target: Codec
    model: Seq2Seq
    training: dict[str, Any] | None
    selection: Selection | None = None
    threshold: float | None = None


class _Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class _Side(_Schema):
    tokens: list[str]
    subword_model: Tensor | None


class _Selection(_Schema):
    likeliest: Tensor
    frequent: Tensor


class _Contents(_Schema):
    """What a file holds, by its types. Training checks its own part."""

    format: int
    config: dict[str, Any]
    source: _Side
    target: _Side
    model: dict[str, Tensor]
    training: dict[str, Any] | None
    selection: _Selection | None = None
    threshold: float | None = None
    scales: dict[str, Tensor] = {}


def save(
    path: Path,
    config: Config,
    source: Codec,
    target: Codec,
    model: Seq2Seq,
    training: dict[str, Any] | None = None,
    selection: Selection | None = None,
    kept: Path | None = None,
    *,
    int8: bool = False,
) -> None:
    """Write a checkpoint so that `path` holds, at any moment, the old file or the new one whole.

    The old file is then found under the name `kept`, if one is given. `int8` stores matrices in 8 bits.
    """
    contents = {
        "format": FORMAT,
        "config": config.model_dump(mode="json"),
        **_sides(source, target),
        "model": dict(model.state_dict()),
        "training": training,
        "selection": None if selection is None else selection._asdict(),
    }
    if int8:
        contents["model"], contents["scales"] = in_8_bits(model.state_dict())
    checkpoint_file.write(path, contents, kept)


def _sides(source: Codec, target: Codec) -> dict[str, dict[str, Any]]:
    """Both codecs. Where they have the same tokens or the same subword model, it is one value, and once in a file."""
    one, other = source.state(), target.state()
    if source.vocabulary == target.vocabulary:
        other["tokens"] = one["tokens"]
    if source.subword_model == target.subword_model:
        other["subword_model"] = one["subword_model"]
    return {"source": one, "target": other}


def set_selection(path: str | Path, output: Path, selection: Selection) -> None:
    """Write a checkpoint with another selection; all else stays as it is in the file `path`."""
    contents = checkpoint_file.read(path) | {"format": FORMAT, "selection": selection._asdict()}
    checkpoint_file.write(output, contents)


def set_threshold(path: str | Path, output: Path, threshold: float) -> None:
    """Write a checkpoint with another threshold; all else stays as it is in the file `path`."""
    checkpoint_file.write(output, checkpoint_file.read(path) | {"format": FORMAT, "threshold": threshold})


def average(loaded: Mapping[str, Loaded]) -> Loaded:
    """The first of some checkpoints, each given with its path, with the mean of all their weights.

    Raises `UserError` if they are not models of one kind with the same vocabularies, of one run or of runs that started
    from one checkpoint (whose mean Wortsman et al. 2022 call a soup).
    """
    (path, first), *others = loaded.items()
    for other_path, other in others:
        for difference in weight_differences(first.config.model, other.config.model):
            raise UserError(f"{path} and {other_path} differ in {difference}: average models of one kind")
        check_same_tokens(path, first, other_path, other)
        one, two = first.config.training, other.config.training
        started_alike = one.start_from == two.start_from
        if not started_alike or (one.seed != two.seed and one.start_from is None):
            # Hidden units that do the same stand in other places: the mean does nothing well.
            raise UserError(
                f"{path} and {other_path} began with different weights: average checkpoints of one run, or of runs "
                "with the same training.start_from"
            )
    states = [contents.model.state_dict() for contents in loaded.values()]
    mean = {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
    first.model.load_state_dict(mean)
    return first._replace(training=None)


def weight_differences(one: ModelConfig, other: ModelConfig) -> Iterator[str]:
    """The dotted names of the fields in which two models differ, except for dropout: weights then mean the same."""
    fields = differences(*(model.model_dump(mode="json") for model in (one, other)))
    yield from (f"model.{field}" for field in fields if field.rpartition(".")[2] not in _DROPOUT)


def check_same_tokens(path: str, one: Loaded, other_path: str, other: Loaded) -> None:
    """Raise `UserError` unless two checkpoints read and write the same tokens."""
    for side in ("source", "target"):
        if getattr(one, side) != getattr(other, side):
            raise UserError(
                f"{path} and {other_path} have different {side} tokens: "
                "take models that were trained with the same data settings on the same text"
            )


def load(path: str | Path, device: torch.device) -> Loaded:
    """Read a checkpoint onto a device, in evaluation mode.

    Raises `UserError` if there is none, or one of another version of nmt, `DamagedFile` if it is not what was written.
    """
    read = checkpoint_file.read(path)
    if type(number := read.get("format")) is int and not OLDEST <= number <= FORMAT and 0 < number < 1000:
        newer = "a newer nmt: update nmt" if number > FORMAT else "an older nmt: train again, or use that version"
        raise UserError(f"{path} was written by {newer} (format {number}, not {FORMAT})")
    try:
        contents = _Contents.model_validate(read)
    except ValidationError as error:
        raise DamagedFile(f"{path} is not an nmt checkpoint: {explain(error)}") from None
    # An older nmt wrote fields without effect, too: they are ignored.
    config = parse_config(
        _as_it_was(contents.config), f"{path} (if a newer nmt has written it, update nmt)", ignored=[]
    )
    source = _codec(config.data.source, contents.source, f"{path}: source")
    target = _codec(config.data.target, contents.target, f"{path}: target")
    try:
        ends = segment_ends(config.model.attention, source.vocabulary)
        model = build_empty(config.model, len(source.vocabulary), len(target.vocabulary), ends)
    except RuntimeError:
        raise DamagedFile(f"{path}: no memory can hold a model of the sizes in its config: use another copy") from None
    weights = restored(str(path), model.state_dict(), contents.model, contents.scales)
    check_weights(str(path), model.state_dict(), weights)
    fill(model, config.model, weights)
    selection = _selection(contents.selection, (len(source.vocabulary), len(target.vocabulary)), str(path))
    if contents.threshold is not None and not math.isfinite(contents.threshold):
        raise DamagedFile(f"{path}: threshold is {contents.threshold}, which cannot be: use another copy")
    return Loaded(config, source, target, model.to(device).eval(), contents.training, selection, contents.threshold)


def _as_it_was(config: dict[str, Any]) -> dict[str, Any]:
    """A config that may be older than some of its fields, with what these were then."""
    match config:
        case {"model": {"attention": {"scope": "local_p" | "local_m" as scope} as attention}}:  # before 0.3.0
            if scope == "local_p":
                attention.setdefault("initial_position", "middle")
                if attention.get("narrow_updates") and "narrow_from" in attention:
                    attention.setdefault("fixed_above", attention["narrow_from"])
            attention.setdefault("narrow_updates", 0)
    return config


def _codec(side: SideConfig, state: _Side, what: str) -> Codec:
    _check_tokens(state.tokens, f"{what}.tokens")
    model = state.subword_model
    if model is not None and (model.dtype != torch.uint8 or model.dim() != 1):
        raise DamagedFile(f"{what}.subword_model holds {model.dtype} of shape {tuple(model.shape)}, not bytes")
    try:
        with prefix_errors_with(f"{what}."):
            codec = Codec.from_state(side.tokenizer, side.language, side.lowercase, state.model_dump())
        if model is not None:
            codec.tokenizer.subwords()
            codec.encode("a")  # sentencepiece reads its model when it is first used
    except (TypeError, ValueError, RuntimeError) as error:
        raise DamagedFile(f"{what}.subword_model cannot be used ({type(error).__name__}): use another copy") from None
    return codec


def _selection(state: _Selection | None, types: tuple[int, int], where: str) -> Selection | None:
    """The selection of models with so many source and target types. Raises `DamagedFile` if it is not one of theirs."""
    if state is None:
        return None
    selection = Selection(state.likeliest, state.frequent)
    for name, ids, shape in zip(selection._fields, selection, ((types[0], None), (None,)), strict=True):
        of_types = len(shape) == ids.dim() and shape[0] in (None, len(ids))
        if ids.dtype not in (torch.int16, torch.int32) or not of_types:
            raise DamagedFile(f"{where}: selection.{name} is {described(ids)}, which cannot be: use another copy")
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < types[1]:
            raise DamagedFile(f"{where}: selection.{name} holds a number that is no target type's: use another copy")
    return selection


def _check_tokens(tokens: list[str], what: str) -> None:
    """Raise `DamagedFile` unless these can be a vocabulary: special tokens first, none twice, none with a space."""
    if tuple(tokens[: len(SPECIALS)]) != SPECIALS or len(set(tokens)) < len(tokens):
        raise DamagedFile(f"{what}: not {', '.join(SPECIALS)} and then others, each once: use another copy")
    for token in tokens:
        if token.split() != [token] or not is_unicode(token):
            raise DamagedFile(f"{what}: {shown(token)} cannot be a token: use another copy")
