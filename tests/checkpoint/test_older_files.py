"""Checkpoints of an older nmt: what their configs do not say is what it was then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.config.run import Config
from nmt.translator import Translator


@pytest.mark.parametrize("position", ["middle", "diagonal"])
def test_local_p_began_in_the_middle_and_with_its_window(
    position: str, tmp_path: Path, make_translator: Callable[..., tuple[Config, Translator]]
) -> None:
    def fields(path: Path) -> tuple[Any, ...]:
        attention = checkpoint.load(path, torch.device("cpu")).config.model.attention
        return attention.initial_position, attention.narrow_updates, attention.fixed_above

    local = f"model.attention={{wiring: luong, score: general, scope: local_p, initial_position: {position}}}"
    config, translator = make_translator(local)
    path = tmp_path / "older.pt"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    assert fields(path) == (position, 800, 20)
    contents = checkpoint_file.read(path)
    attention = contents["config"]["model"]["attention"]
    del attention["fixed_above"]
    checkpoint_file.write(path, contents)
    assert fields(path) == (position, 800, 60)  # its centre moved from the beginning
    for field in ("initial_position", "narrow_from", "narrow_updates"):
        del attention[field]
    checkpoint_file.write(path, contents)
    assert fields(path)[:2] == ("middle", 0)
