"""Checkpoints of an older nmt: what their configs do not say is what it was then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.config.run import Config
from nmt.translator import Translator


def test_local_p_began_in_the_middle(tmp_path: Path, make_translator: Callable[..., tuple[Config, Translator]]) -> None:
    def initial_position(path: Path) -> Any:
        return checkpoint.load(path, torch.device("cpu")).config.model.attention.initial_position

    local = "model.attention={wiring: luong, score: general, scope: local_p, initial_position: %s}"
    for name in ("middle", "diagonal"):
        config, translator = make_translator(local % name)
        path = tmp_path / name
        checkpoint.save(path, config, translator.source, translator.target, translator.model)
        assert initial_position(path) == name
        contents = checkpoint_file.read(path)
        del contents["config"]["model"]["attention"]["initial_position"]
        checkpoint_file.write(path, contents)
        assert initial_position(path) == "middle"
