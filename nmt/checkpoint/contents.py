"""What a checkpoint contains: enough to translate anywhere, and to continue training.

All of it, plain values and tensors, is checked before use, because a file may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, FailFast, Field, FiniteFloat, ValidationError
from torch import Tensor

from nmt.build import build_empty, fill, segment_ends
from nmt.checkpoint import file as checkpoint_file
from nmt.checkpoint.file import DamagedFile
from nmt.checkpoint.weights import check_weights, dequantize, quantize
from nmt.config.model import ModelConfig
from nmt.config.reading import differences, explain, parse_stored
from nmt.config.run import Config
from nmt.model.seq2seq import Seq2Seq
from nmt.system.errors import UserError, prefix_errors_with
from nmt.system.values import is_unicode, shown
from nmt.text.codec import Codec
from nmt.text.vocabulary import SPECIALS

FORMAT = 4  # older ones are no safetensors files
_DROPOUT = {"dropout", "embedding_dropout"}  # the fields' names in any section of the model


class Loaded(NamedTuple):
    """A checkpoint's contents. `training` is the loop's state, or None where the file serves translation alone.

    Beyond `threshold`, in nats per token, or `rarity_threshold` a translation is unlike the training text
    (`nmt.evaluation.calibration`); beyond `word_thresholds` a word is omitted, or added. None if none was fitted.
    """

    config: Config
    source: Codec
    target: Codec
    model: Seq2Seq
    training: dict[str, Any] | None
    threshold: float | None = None
    rarity_threshold: float | None = None
    word_thresholds: Sequence[float] | None = None


class _Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class _Side(_Schema):
    tokens: Annotated[list[str], FailFast()]
    subword_model: Tensor | None


class _Contents(_Schema):
    """The types of the contents. Those of `training` are checked when training resumes."""

    format: int
    config: dict[str, Any]
    source: _Side
    target: _Side
    model: dict[str, Tensor]
    scales: dict[str, Tensor]
    threshold: FiniteFloat | None
    rarity_threshold: FiniteFloat | None = None
    word_thresholds: Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)] | None = None
    training: dict[str, Any] | None


def save(
    path: Path,
    config: Config,
    source: Codec,
    target: Codec,
    model: Seq2Seq,
    training: dict[str, Any] | None = None,
    previous: Path | None = None,
    *,
    int8: bool = False,
) -> None:
    """Write a checkpoint as `nmt.checkpoint.file.write` does. `int8` stores matrices in 8 bits."""
    weights, scales = quantize(model.state_dict()) if int8 else (model.state_dict(), {})
    source_side, target_side = source.state(), target.state()
    if source.subword_model == target.subword_model:
        target_side["subword_model"] = source_side["subword_model"]  # one tensor is stored once
    contents = {
        "format": FORMAT,
        "config": config.model_dump(mode="json"),
        "source": source_side,
        "target": target_side,
        "model": weights,
        "scales": scales,
        "threshold": None,
        "rarity_threshold": None,
        "training": training,
    }
    checkpoint_file.write(path, contents, previous)


def set_thresholds(path: str | Path, output: Path, threshold: float, rarity_threshold: float, **more: Any) -> None:
    """Write a checkpoint with other thresholds; all else stays as it is in the file `path`."""
    more |= {"threshold": threshold, "rarity_threshold": rarity_threshold}
    checkpoint_file.write(output, checkpoint_file.read(path) | more)


def weight_differences(one: ModelConfig, other: ModelConfig) -> Iterator[str]:
    """The dotted names of the fields in which two models differ, except for dropout: weights then mean the same."""
    fields = differences(*(model.model_dump(mode="json") for model in (one, other)))
    yield from (f"model.{field}" for field in fields if field.rpartition(".")[2] not in _DROPOUT)


def check_same_tokens(path: str, one: Loaded, other_path: str, other: Loaded) -> None:
    """Raise `UserError` unless two checkpoints read and write the same tokens."""
    for side in ("source", "target"):
        if getattr(one, side) != getattr(other, side):
            raise UserError(f"{path} and {other_path} have different {side} tokens: take models of the same data")


def load(path: str | Path, device: torch.device) -> Loaded:
    """Read a checkpoint onto a device, in evaluation mode. Raises what `nmt.checkpoint.file.read` and `parse` do."""
    return parse(checkpoint_file.read(path), str(path), device)


def parse(values: dict[str, Any], path: str, device: torch.device) -> Loaded:
    """A checkpoint of the contents that were read from the file `path`. Raises what `load` does."""
    if type(number := values.get("format")) is int and FORMAT < number < 1000:
        raise UserError(f"{path} was written by a newer nmt: update nmt (format {number}, not {FORMAT})")
    try:
        contents = _Contents.model_validate(values)
    except ValidationError as error:
        raise DamagedFile(f"{path} is not an nmt checkpoint: {explain(error)}; use another copy") from None
    config = parse_stored(contents.config, f"{path} (if a newer nmt has written it, update nmt)")
    source = _codec(config, "source", contents.source, path)
    target = _codec(config, "target", contents.target, path)
    try:
        ends = segment_ends(config.model.attention, source.vocabulary)
        model = build_empty(config.model, len(source.vocabulary), len(target.vocabulary), ends)
    except RuntimeError:
        raise DamagedFile(f"{path}: no memory can hold a model of the sizes in its config: use another copy") from None
    weights = dequantize(path, model.state_dict(), contents.model, contents.scales)
    check_weights(path, model.state_dict(), weights)
    fill(model, config.model, weights)
    thresholds = contents.threshold, contents.rarity_threshold, contents.word_thresholds
    return Loaded(config, source, target, model.to(device).eval(), contents.training, *thresholds)


def _codec(config: Config, name: str, state: _Side, path: str) -> Codec:
    side, what = getattr(config.data, name), f"{path}: {name}"
    _check_tokens(state.tokens, f"{what}.tokens")
    model = state.subword_model
    if model is not None and (model.dtype != torch.uint8 or model.dim() != 1):
        raise DamagedFile(f"{what}.subword_model holds {model.dtype} of shape {tuple(model.shape)}, not bytes")
    try:
        with prefix_errors_with(f"{what}."):
            codec = Codec.from_state(
                side.tokenizer, side.language, side.lowercase, state.model_dump(), config.data.normalize
            )
        if model is not None:
            codec.tokenizer.subwords()
            codec.encode("a")  # sentencepiece reads its model when it is first used
    except (TypeError, ValueError, RuntimeError) as error:
        raise DamagedFile(f"{what}.subword_model cannot be used ({type(error).__name__}): use another copy") from None
    return codec


def _check_tokens(tokens: list[str], what: str) -> None:
    """Raise `DamagedFile` unless these can be a vocabulary: special tokens first, none twice, none with a space."""
    if tuple(tokens[: len(SPECIALS)]) != SPECIALS or len(set(tokens)) < len(tokens):
        raise DamagedFile(f"{what}: not {', '.join(SPECIALS)} and then others, each once: use another copy")
    for token in tokens:
        if token.split() != [token] or not is_unicode(token):
            raise DamagedFile(f"{what}: {shown(token)} cannot be a token: use another copy")
