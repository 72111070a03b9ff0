"""Checkpoints with a right checksum: any value anywhere in them, loaded and resumed; cut, flipped, tampered with."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.build import build_model
from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.config.run import Config
from nmt.data.training_set import load_training_set
from nmt.text.corpus import ParallelText
from nmt.translator import Translator
from support.checkpoint_bytes import header_and_data, joined, with_right_checksum
from support.runs import finish, run_and_stop
from support.texts import data_config
from support.walk.family import Try, refused
from support.walk.odd import altered, text

CPU = torch.device("cpu")
KINDS = ("spacy", "sentencepiece", "whitespace", "char")
_HEAD = len('{"sha256": "') + 64  # characters of the JSON, up to the end of the digest
TEXT = ParallelText(["ba de fi go hu", "DE fi. ja"] * 3, ["kip lom mun", "nar Pes. rit"] * 3)


def _config(name: str, folder: Path, kind: str, **more: Any) -> Config:
    data = data_config(folder, TEXT, kind, 18 if kind == "sentencepiece" else None)
    values = {
        "name": name,
        "data": data.model_dump(),
        "model": {"embedding_size": 4, "encoder": {"hidden_size": 3}, "decoder": {"hidden_size": 5}},
        "search": {"beam_size": 2, "max_length": 6, "max_source_length": 12},
    }
    return Config.model_validate(values | more)


@functools.cache
def models(folder: Path) -> dict[str, Path]:
    """Checkpoints of tiny untrained models, one for each kind of tokens; that of characters in 8 bits."""
    paths = {}
    for kind in KINDS:
        place = folder / kind
        place.mkdir(exist_ok=True)
        config = _config(kind, place, kind)
        pairs = load_training_set(config.data)
        torch.manual_seed(1)
        model = build_model(config.model, len(pairs.source.vocabulary), len(pairs.target.vocabulary))
        paths[kind] = place / "good.safetensors"
        checkpoint.save(paths[kind], config, pairs.source, pairs.target, model, int8=kind == "char")
    return paths


def places(contents: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in nested dictionaries and lists; of a long list to its ends."""
    if path:
        yield path
    ends = sorted({0, 1, 4, len(contents) - 1} & {*range(len(contents))}) if isinstance(contents, list) else ()
    for key in contents if isinstance(contents, dict) else ends:
        yield from places(contents[key], (*path, key))


def _tensor(change: Callable[[Tensor], Any]) -> Callable[[Any], Any]:
    """A change of tensors; other values become a list of themselves."""
    return lambda old: change(old) if isinstance(old, Tensor) else old if isinstance(old, dict) else [old, old]


PLANTED: list[Callable[[Any], Any]] = [
    *(lambda _, value=value: value for value in (None, True, 0, -1, 7, 1.5, -1e308, float("nan"), float("inf"))),
    *(lambda _, value=value: value for value in (2**31, 2**70, 10**4000, "", "x", "\ud83d", "a\nb", "x" * 10**5)),
    *(lambda _, value=value: value for value in ("../../x", "/dev/zero", "en.stop_words", [], {}, (), ["x"], {"x": 1})),
    *(lambda _, value=value: value for value in (torch.zeros(()), torch.zeros(4), torch.zeros(0), torch.tensor(-1.0))),
    lambda _: torch.zeros(4, dtype=torch.uint8),
    lambda _: torch.zeros(4, dtype=torch.complex64),
    lambda _: torch.zeros(4, dtype=torch.float8_e4m3fn),
    lambda _: torch.full((4,), 1e300, dtype=torch.float64),
    _tensor(lambda old: -old if old.is_floating_point() else old.flip(0)),
    _tensor(lambda old: old.double() * 1e300),
    _tensor(lambda old: old * float("nan")),
    _tensor(lambda old: old.long()),
    _tensor(lambda old: old.half()),
    _tensor(lambda old: old.t() if old.dim() == 2 else old[:-1] if old.dim() else old.view(1)),
    _tensor(lambda old: torch.full_like(old, 1e30 if old.is_floating_point() else 127)),
    _tensor(lambda old: torch.full_like(old, 255 if old.dtype != torch.int8 else -128)),
]
CHANGES = len(PLANTED) + 1  # the last one leaves the value out


def plant(contents: dict[str, Any], place: tuple[Any, ...], number: int) -> None:
    """Put the planted value of that number into the place, or leave out what is there."""
    *parents, last = place
    holder: Any = contents
    try:
        for key in parents:
            holder = holder[key]
        old = holder[last]
    except (KeyError, IndexError, TypeError):
        return  # something else was planted on the way
    if isinstance(holder, dict) and number == len(PLANTED):
        del holder[last]
    elif isinstance(holder, list | dict) and number < len(PLANTED):
        value = PLANTED[number](old)
        if isinstance(holder, dict) or not _has_tensor(value):  # a list cannot hold one in a file
            holder[last] = value


def _has_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, list) and any(map(_has_tensor, value)))


def _planter(good: dict[str, Path]) -> tuple[Callable[[int, Random, Path], None], int]:
    """How to write a checkpoint with other values in some places, and a right checksum; and how many have one value."""
    of = {kind: list(places(checkpoint_file.read(path))) for kind, path in good.items()}
    cases = [(kind, place, number) for kind in good for place in of[kind] for number in range(CHANGES)]

    def write(number: int, chance: Random, path: Path) -> None:
        if number < len(cases):
            kind, *change = cases[number]
            changes: list[Any] = [change]
        else:
            kind = chance.choice(list(good))
            changes = [(chance.choice(of[kind]), chance.randrange(CHANGES)) for _ in range(chance.randrange(1, 4))]
        contents = checkpoint_file.read(good[kind])
        for place, value in changes:
            plant(contents, place, value)
        checkpoint_file.write(path, contents)

    return write, len(cases)


def begin_loaded(folder: Path) -> tuple[Try, int]:
    """Every place × every planted value; what loads, translates."""
    write, count = _planter(models(folder))
    path = folder / "planted.safetensors"

    def attempt(number: int, chance: Random) -> bool:
        write(number, chance, path)
        return refused(lambda: Translator.load(path, device="cpu").translate(["ba DE x"]), path)

    return attempt, count


def begin_resumed(folder: Path) -> tuple[Try, int]:
    """Every place × every planted value in the checkpoint of a run of three updates that is resumed after two."""
    training = {"max_updates": 3, "batch_size": 3, "checkpoint_every": 1, "moving_average": 0.9, "threads": 1}
    training |= {"device": "cpu", "schedule": {"kind": "plateau"}, "optimizer": "adamw"}
    config = _config("stopped", folder, "whitespace", output_dir=str(folder / "runs"), training=training)
    with pytest.MonkeyPatch.context() as patch:
        write, count = _planter({"stopped": run_and_stop(patch, config, 2) / "last.safetensors"})
    resumed = config.model_copy(update={"output_dir": str(folder / "resumed")})
    place = Path(resumed.output_dir) / config.name

    def attempt(number: int, chance: Random) -> bool:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        write(number, chance, place / "last.safetensors")
        return refused(lambda: finish(resumed, resume=True), place, "training.learning_rate")

    return attempt, count


def begin_checksummed(folder: Path) -> tuple[Try, int]:
    """Bytes changed and the checksum made right: anywhere, in the header, or in the JSON within it."""
    path = folder / "checksummed.safetensors"
    good = models(folder)["whitespace"]
    header, data = header_and_data(good)

    def attempt(_: int, chance: Random) -> bool:
        match chance.randrange(5):
            case 0:
                changed = with_right_checksum(altered(good.read_bytes(), chance))
            case 1 | 2:
                changed = joined(altered(json.dumps(header, separators=(",", ":")).encode(), chance), data)
            case _:
                text = header["__metadata__"]["nmt"]
                head, tail = text[:_HEAD], altered(text[_HEAD:].encode(), chance).decode("utf-8", "ignore")
                changed = joined({**header, "__metadata__": {"nmt": head + tail}}, data)
        path.write_bytes(changed)
        return refused(lambda: checkpoint.load(path, CPU), path)

    return attempt, 0


def begin_subwords(folder: Path) -> tuple[Try, int]:
    """A sentencepiece model that was tampered with, in a checkpoint whose checksum is right; what loads, translates."""
    contents = checkpoint_file.read(models(folder)["sentencepiece"])
    path = folder / "tampered.safetensors"

    def attempt(_: int, chance: Random) -> bool:
        side = chance.choice(["source", "target"])
        tampered = bytearray(altered(bytes(contents[side]["subword_model"].numpy()), chance))
        subwords = contents[side] | {"subword_model": torch.frombuffer(tampered, dtype=torch.uint8)}
        checkpoint_file.write(path, contents | {side: subwords})
        return refused(lambda: Translator.load(path, device="cpu").translate(["ba DE ½ ﬁ", text(chance)]), path)

    return attempt, 0
