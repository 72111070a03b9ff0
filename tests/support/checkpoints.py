"""Checkpoints of tiny models, as they are and altered."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.config.run import Config
from nmt.system.errors import UserError
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
Saver = Callable[..., Path]
Alter = Callable[[dict[str, Any]], object]
CPU = torch.device("cpu")
JOINT = [
    "data.joint_vocabulary=true",
    *(f"data.{side}.tokenizer=sentencepiece" for side in ("source", "target")),
    *(f"data.{side}.vocabulary_size=32" for side in ("source", "target")),
    "model.tied_embeddings=all",
]
LARGE = ["model.embedding_size=64", "model.encoder.hidden_size=64", "model.decoder.hidden_size=64"]


PLANTED = "\x1b]0;x\x07\x9b2J\u202e\u2066\x7f<script>"


def plant(contents: dict[str, Any]) -> None:
    """Control characters and markup in every token that can be written."""
    tokens = contents["target"]["tokens"]
    tokens[4:] = [f"{token}{PLANTED}" for token in tokens[4:]]
    contents["model"]["decoder.output.bias"] += torch.tensor([0.0] * 3 + [-1e6] + [1e3] * 8)


@pytest.fixture
def save(tmp_path: Path, make_translator: Maker) -> Saver:
    """Write `NAME.safetensors` of the model that overrides of the config make."""

    def saver(name: str, *overrides: str, plus: float = 0.0, **options: Any) -> Path:
        config, translator = make_translator(*overrides)
        with torch.no_grad():
            for parameter in translator.model.parameters():
                parameter.add_(plus * torch.rand_like(parameter))
        path = tmp_path / f"{name}.safetensors"
        checkpoint.save(path, config, translator.source, translator.target, translator.model, **options)
        return path

    return saver


def weights(path: str | Path) -> dict[str, torch.Tensor]:
    """The weights that a checkpoint holds, as they are used."""
    return checkpoint.load(path, CPU).model.state_dict()


def altered(path: Path, alter: Alter) -> Path:
    """The checkpoint with something else in it, and a checksum that is right."""
    contents = checkpoint_file.read(path)
    alter(contents)
    checkpoint_file.write(path, contents)
    return path


def refusal(path: Path) -> str:
    """The message with which a checkpoint is refused: one line of some length, which begins with its path."""
    with pytest.raises(UserError) as caught:
        checkpoint.load(path, CPU)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message) <= 1000
    assert len(message.splitlines()) == 1
    return message
