"""What a run finds in its folder: a checkpoint that is damaged or does not fit, another run, what a kill has left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.runs import HARD, ConfigMaker, Killed, after_update, assert_same_run, contents, finish, run_and_stop

from nmt.checkpoint import contents as checkpoint
from nmt.system.errors import UserError
from nmt.training.interruption import StopSignals
from nmt.training.run import check, run


@pytest.mark.parametrize("harm", ["cut", "altered", "missing"])
def test_resume_falls_back_to_the_checkpoint_before(
    shared_config: ConfigMaker,
    straight: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    harm: str,
) -> None:
    config = shared_config(*HARD, f"name={harm}")
    folder = run_and_stop(monkeypatch, config, 7)
    assert contents(folder, "previous.safetensors")["training"]["state"]["update"] == 6
    last = folder / "last.safetensors"
    data = last.read_bytes()
    (folder / ".last.safetensors.123.tmp").write_bytes(b"half of it")
    if harm == "missing":  # what a kill between the two renamings of a save leaves
        last.unlink()
    else:
        last.write_bytes(data[:-1] if harm == "cut" else data.replace(b"a", b"b", 1))
    assert_same_run(finish(config, resume=True), straight())
    printed = capsys.readouterr().err
    assert str(last) in printed
    assert f"Continuing from the checkpoint before it, {folder / 'previous.safetensors'}" in printed
    assert (folder / "damaged.safetensors").exists() is (harm != "missing")
    assert list(folder.glob(".*")) == []


def test_resume_without_a_usable_checkpoint_is_refused_and_changes_nothing(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=1")
    folder = finish(config)
    best = (folder / "best.safetensors").read_bytes()
    damage = (
        rf"last\.safetensors is not a complete nmt checkpoint.*Start another.*start_from={folder}/best\.safetensors"
    )
    for last, previous, message in (
        (b"no checkpoint", None, r"last\.safetensors is not a complete nmt checkpoint"),
        (b"no checkpoint", b"none, either", damage),
        (best, None, r"last\.safetensors is for translation only, like best\.safetensors"),
        (None, None, r"has best\.safetensors, but neither last\.safetensors nor previous\.safetensors to continue"),
    ):
        for name, content in (("last", last), ("previous", previous)):
            (folder / f"{name}.safetensors").unlink(missing_ok=True)
            if content is not None:
                (folder / f"{name}.safetensors").write_bytes(content)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises(UserError, match=message):
            finish(config, resume=True)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_kill_behind_the_first_best_model_loses_nothing(
    make_config: ConfigMaker, straight: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(*HARD, "training.checkpoint_every=null", "name=killed")
    real = checkpoint.save

    def save(path: Path, *arguments: Any, **more: Any) -> None:
        real(path, *arguments, **more)
        if path.name == "best.safetensors":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", save)
        with pytest.raises(Killed):
            finish(config)
    assert_same_run(finish(config, resume=True), straight())


def test_two_runs_never_share_a_folder(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config("training.max_updates=3")

    def begin_another() -> None:
        for resume in (False, True):
            with pytest.raises(UserError, match="is in use by another run: wait for it, or stop it"):
                run(config, StopSignals(), resume=resume)

    with monkeypatch.context() as patch:
        after_update(patch, 2, begin_another)
        folder = finish(config)
    assert contents(folder)["training"]["state"]["update"] == 3


def test_a_run_needs_a_folder_of_its_own(make_config: ConfigMaker) -> None:
    """Not that of another run, nor of somebody else, nor that of a run whose checkpoints were removed."""
    config = make_config("training.max_updates=1")
    folder = Path(config.output_dir) / config.name
    folder.mkdir(parents=True)
    mine = folder / "config.yaml"
    mine.write_text("mine", encoding="utf-8")
    others = r"has no last\.safetensors, but other files, such as config\.yaml: move them, or .* --set name=NAME"
    for resume in (False, True):
        with pytest.raises(UserError, match=others):
            finish(config, resume=resume)
        assert mine.read_text(encoding="utf-8") == "mine"
    mine.unlink()
    finish(config)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(UserError, match=r"already holds a run: continue it with --resume, or .* --set name=NAME"):
        finish(make_config("training.max_updates=1", "training.seed=5"))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    for path in folder.glob("*.safetensors"):
        path.unlink()
    (folder / "evaluation.json").write_text("mine", encoding="utf-8")
    (folder / ".draft.tmp").write_text("mine", encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for resume in (run, lambda *_, resume: check(config, resume=resume)):
        with pytest.raises(UserError, match=r"has no last\.safetensors, but other files, such as evaluation\.json"):
            resume(config, StopSignals(), resume=True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
