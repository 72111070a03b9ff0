"""Checkpoints: one file that is enough to translate anywhere, and to go on training from.

It lies below translator and training because both read it. The file holds plain values and tensors alone, so that it
loads with `weights_only=True`: format, config, both codecs, the model's weights, and for training its whole state.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from nmt.config import Config
from nmt.config_file import differences, parse_config
from nmt.data.codec import Codec
from nmt.errors import UserError
from nmt.files import replacing
from nmt.model.seq2seq import Seq2Seq, build_model

FORMAT = 1


class Loaded(NamedTuple):
    """A checkpoint's contents. `training` is the loop's state, or None where the file serves translation alone."""

    config: Config
    source: Codec
    target: Codec
    model: Seq2Seq
    training: dict[str, Any] | None


def save(
    path: Path, config: Config, source: Codec, target: Codec, model: Seq2Seq, training: dict[str, Any] | None = None
) -> None:
    """Write a checkpoint so that `path` holds, at any moment, the old file or the new one whole."""
    contents = {
        "format": FORMAT,
        "config": config.model_dump(mode="json"),
        "source": source.state(),
        "target": target.state(),
        "model": model.state_dict(),
        "training": training,
    }
    with replacing(path) as file:
        torch.save(contents, file)


def average(loaded: Mapping[str, Loaded]) -> Loaded:
    """The first of some checkpoints, each given with its path, with the mean of all their weights.

    Raises `UserError` if they are not models of one kind, with the same vocabularies.
    """
    (path, first), *others = loaded.items()
    for other_path, other in others:
        for difference in differences(first.config.model.model_dump(), other.config.model.model_dump()):
            raise UserError(f"{path} and {other_path} differ in model.{difference}: average checkpoints of one config")
        check_same_tokens(path, first, other_path, other)
    states = [contents.model.state_dict() for contents in loaded.values()]
    mean = {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
    first.model.load_state_dict(mean)
    return first._replace(training=None)


def check_same_tokens(path: str, one: Loaded, other_path: str, other: Loaded) -> None:
    """Raise `UserError` unless two checkpoints read and write the same tokens."""
    for side in ("source", "target"):
        if getattr(one, side) != getattr(other, side):
            raise UserError(
                f"{path} and {other_path} have different {side} tokens: "
                "take models that were trained with the same data settings on the same text"
            )


def load(path: str | Path, device: torch.device) -> Loaded:
    """Read a checkpoint onto a device, in evaluation mode. Raises `UserError` if it is no checkpoint of ours."""
    try:
        contents = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: give the path of a checkpoint, such as checkpoints/NAME/best.pt"
        ) from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: give the checkpoint in it, such as {Path(path) / 'best.pt'}") from None
    except Exception as error:  # torch raises many kinds for a damaged file
        raise UserError(
            f"{path} is no checkpoint that can be read ({type(error).__name__}): was it cut short?"
        ) from None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise UserError(f"{path} is no checkpoint of this version of nmt (format {FORMAT}): train again, or update nmt")
    try:
        config = parse_config(contents["config"], str(path))
        source = Codec.from_state(config.data.source, contents["source"])
        target = Codec.from_state(config.data.target, contents["target"])
        model = build_model(config.model, len(source.vocabulary), len(target.vocabulary))
        model.load_state_dict(contents["model"])
        return Loaded(config, source, target, model.to(device).eval(), contents["training"])
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise UserError(f"{path} is a damaged checkpoint ({type(error).__name__}): take another copy") from None
