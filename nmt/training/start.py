"""What a run begins with: new weights, those of a checkpoint, whose tokens it then keeps, or its own last ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import torch

from nmt.build import build_model, segment_ends
from nmt.checkpoint.contents import Loaded, load, weight_differences
from nmt.checkpoint.file import DamagedFile
from nmt.config.data import DataConfig
from nmt.config.reading import differences
from nmt.config.run import Config
from nmt.model.seq2seq import Seq2Seq
from nmt.system.errors import UserError
from nmt.text.codec import Codec
from nmt.text.vocabulary import UNK
from nmt.training.folder import BEST, LAST, PREVIOUS

_OF_TOKENS = {"tokenizer", "language", "lowercase", "vocabulary_size", "subword_model"}


def starting_point(config: Config, resumed: Path | None = None) -> Loaded | None:
    """The checkpoint that `training.start_from` names, if any.

    For a run that goes on in the folder `resumed` it is the run's own last checkpoint, which has the same tokens.
    Raises `UserError` if it does not exist or is damaged, or if it has another model or other tokenizers.
    """
    path = config.training.start_from
    if path is None:
        return None
    cpu = torch.device("cpu")
    if resumed is not None and (last := last_whole(resumed, cpu)[0]) is not None:
        return last
    loaded = load(path, cpu)
    for field in _fixed_differences(loaded.config, config):
        value = json.dumps(attrgetter(field)(loaded.config), default=str).strip('"')
        raise UserError(f"training.start_from: {path} has another {field}: set it to the checkpoint's, {value}")
    for tag in (extra.tag for extra in config.data.source.extra):
        if tag is not None and tag not in loaded.source.vocabulary.tokens:
            raise UserError(f"data.source.extra: {path} was trained without the tag {tag}: leave it out")
    for side, codec in (("source", loaded.source), ("target", loaded.target)):
        before, now = (_fields_that_draw(data, side) for data in (loaded.config.data, config.data))
        if now and not before and UNK in codec.vocabulary.encode(codec.tokenizer.subwords()):
            raise UserError(f"{now[0]}: {path} was trained without it, and does not know all subwords: leave it out")
    return loaded


def _fields_that_draw(data: DataConfig, side: str) -> list[str]:
    """The fields that are set and bring up subwords of a side which the text as it stands need not have."""
    fields = {
        f"data.{side}.subword_sampling": getattr(getattr(data, side), "subword_sampling", None),
        "data.source.respelling": data.source.respelling if side == "source" else None,
        "data.copying": data.copying,
    }
    return [field for field, value in fields.items() if value is not None]


def last_whole(folder: Path, device: torch.device) -> tuple[Loaded | None, DamagedFile | None]:
    """The last checkpoint, or the one before it and what is wrong with the last one; None before the first.

    Raises `UserError` if there is a model, but no checkpoint to continue from.
    """
    last, previous = folder / LAST, folder / PREVIOUS
    if not last.exists() and not previous.exists():
        if (folder / BEST).exists():
            raise UserError(
                f"{folder} has {BEST}, but neither {LAST} nor {PREVIOUS} to continue from: start another run with "
                "--set name=NAME"
            )
        return None, None
    try:
        if not last.exists():
            raise DamagedFile(f"{last} is missing")
        return load(last, device), None
    except DamagedFile as error:
        if not previous.exists():
            raise
        try:
            return load(previous, device), error
        except DamagedFile as other:
            weights = f" --set training.start_from={folder / BEST}" if (folder / BEST).exists() else ""
            raise DamagedFile(f"{error}. {other}. Start another run: --set name=NAME{weights}") from None


def first_model(config: Config, source: Codec, target: Codec, start: Loaded | None) -> Seq2Seq:
    """The model before the first update: with the weights of the starting point, or with random ones."""
    ends = segment_ends(config.model.attention, source.vocabulary)
    model = build_model(config.model, len(source.vocabulary), len(target.vocabulary), ends)
    if start is not None:
        model.load_state_dict(start.model.state_dict())
    return model


def _fixed_differences(before: Config, now: Config) -> Iterator[str]:
    """The fields that must be the checkpoint's own, and are not."""
    if before.data.joint_vocabulary != now.data.joint_vocabulary:
        yield "data.joint_vocabulary"
    for side in ("source", "target"):
        one, other = (getattr(config.data, side).model_dump(include=_OF_TOKENS) for config in (before, now))
        yield from (f"data.{side}.{field}" for field in differences(one, other))
    yield from weight_differences(before.model, now.model)
