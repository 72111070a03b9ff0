"""`training.keep_checkpoints`: the last N checkpoints, never more."""

from pathlib import Path

import torch
from support.runs import ConfigMaker, assert_same, assert_same_run, contents, finish

from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main

EVERY_TWO = ["training.max_updates=9", "training.checkpoint_every=2", "training.validate_every=99"]


def test_the_last_checkpoints_are_kept_and_can_be_averaged(make_config: ConfigMaker, tmp_path: Path) -> None:
    plain = finish(make_config(*EVERY_TWO, "name=plain"))
    folder = finish(make_config(*EVERY_TWO, "training.keep_checkpoints=3"))
    assert_same_run(folder, plain)
    names = [folder / f"update_{number:06d}.safetensors" for number in (6, 8, 9)]
    assert sorted(folder.glob("update_*")) == names
    assert [contents(folder, path.name)["training"]["state"]["update"] for path in names] == [6, 8, 9]
    assert_same(contents(folder, names[-1].name), contents(folder))
    mean = tmp_path / "mean.safetensors"
    assert main(["average", *map(str, names), "--output", str(mean)]) == 0
    averaged = checkpoint_file.read(mean)["model"]["decoder.output.weight"]
    weights = [contents(folder, path.name)["model"]["decoder.output.weight"] for path in names]
    torch.testing.assert_close(averaged, torch.stack(weights).mean(dim=0))
