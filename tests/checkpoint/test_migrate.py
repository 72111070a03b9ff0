"""`nmt migrate`: checkpoints of nmt 0.3 and older become those of this version, down to the last bit."""

import hashlib
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.cli import error_of
from support.runs import HARD, ConfigMaker, assert_same, assert_same_run, finish, run_and_stop

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main
from nmt.config.run import Config
from nmt.data.shortlist import Shortlist
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
FORMATS = ("pt", "safetensors")
CPU = torch.device("cpu")
GOOD = {"format": 3, "source": {}, "target": {}, "model": {}, "training": None}


def write_old(path: Path, contents: Any) -> Path:
    """Write contents as nmt 0.3 did: an archive of `torch.save` whose comment is its SHA-256."""
    buffer = io.BytesIO()
    torch.save(contents, buffer)
    archive = buffer.getvalue()[:-2] + (71).to_bytes(2, "little")
    path.write_bytes(archive + b"sha256:" + hashlib.sha256(archive).hexdigest().encode())
    return path


def old_contents(path: Path, number: int = 3) -> dict[str, Any]:
    """The contents of a checkpoint as they were in nmt 0.3, or in format 2."""
    contents = checkpoint_file.read(path) | {"format": number}
    contents["config"]["search"]["vocabulary_selection"] = True  # the default then
    if number == 2:
        for field in ("selection", "threshold", "scales"):
            del contents[field]
    if (training := contents["training"]) is not None:
        moments: dict[int, dict[str, Any]] = {}
        for name, moment in training["optimizer"].items():
            index, _, kind = name.partition(".")
            moments.setdefault(int(index), {})[kind] = moment
        training |= {"optimizer": moments, "random": list(training["random"]), "random_cuda": [None]}
    return contents


@pytest.mark.parametrize(("number", "int8"), [(2, False), (3, False), (3, True)])
def test_a_model_stays_as_it_was(tmp_path: Path, make_translator: Maker, number: int, int8: bool) -> None:
    config, translator = make_translator("model.tied_embeddings=target")
    path, new = tmp_path / "best.safetensors", tmp_path / "new.safetensors"
    size = len(translator.source.vocabulary)
    selection = Shortlist(torch.zeros(size, 2, dtype=torch.int16), torch.arange(6, dtype=torch.int16))
    sides = translator.source, translator.target
    checkpoint.save(path, config, *sides, translator.model, selection=None if number == 2 else selection, int8=int8)
    if number == 3:
        checkpoint.set_threshold(path, path, -1.5)
    old = write_old(tmp_path / "best.pt", old_contents(path, number))
    assert main(["migrate", str(old), str(new)]) == 0
    assert_same(checkpoint_file.read(new), checkpoint_file.read(path))
    assert abs(new.stat().st_size - path.stat().st_size) < 10  # what two weights share is stored once


def test_training_continues_with_the_same_bits(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole run's folder, converted in place."""
    config = make_config(*HARD)
    folder = run_and_stop(monkeypatch, config, 6)
    for path in folder.glob("*.safetensors"):
        write_old(path.with_suffix(".pt"), old_contents(path))
        path.unlink()
    with pytest.raises(Exception, match=f"holds a run of nmt 0.3 or older: convert it with nmt migrate {folder} "):
        finish(config, resume=True)
    assert main(["migrate", str(folder), str(folder)]) == 0
    finish(config, resume=True)
    for path in folder.glob("*.pt"):
        path.unlink()
    assert_same_run(folder, finish(make_config(*HARD, "name=straight")))


def test_a_folder_is_copied(make_config: ConfigMaker, tmp_path: Path) -> None:
    folder = finish(make_config("training.max_updates=1"))
    for path in folder.glob("*.safetensors"):
        write_old(path.with_suffix(".pt"), old_contents(path))
    new = tmp_path / "new"
    assert main(["migrate", str(folder), str(new)]) == 2  # NAME.safetensors are in the way
    shutil.rmtree(new)
    before = {path.name: checkpoint_file.read(path) for path in folder.glob("*.safetensors")}
    for name in before:
        (folder / name).unlink()
    assert main(["migrate", str(folder), str(new)]) == 0
    assert_same({path.name: checkpoint_file.read(path) for path in new.glob("*.safetensors")}, before)
    others = [{path.name for path in place.iterdir() if path.suffix[1:] not in FORMATS} for place in (folder, new)]
    assert others[0] == others[1] >= {"config.yaml", "metrics.jsonl"}
    assert (new / "metrics.jsonl").read_bytes() == (folder / "metrics.jsonl").read_bytes()


@pytest.mark.parametrize("position", ["middle", "diagonal"])
def test_what_older_configs_do_not_say_is_what_it_was_then(
    tmp_path: Path, make_translator: Maker, position: str
) -> None:
    """local-p began in the middle and with its window."""

    def fields(contents: dict[str, Any]) -> tuple[Any, ...]:
        new = tmp_path / "new.safetensors"
        new.unlink(missing_ok=True)
        assert main(["migrate", str(write_old(tmp_path / "old.pt", contents)), str(new)]) == 0
        attention = checkpoint.load(new, CPU).config.model.attention.model_dump()
        return attention["initial_position"], attention["narrow_updates"], attention.get("fixed_above")

    local = f"model.attention={{wiring: luong, score: general, scope: local_p, initial_position: {position}}}"
    config, translator = make_translator(local)
    path = tmp_path / "best.safetensors"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    contents = old_contents(path)
    assert fields(contents) == (position, 800, 20)
    attention = contents["config"]["model"]["attention"]
    del attention["fixed_above"]
    assert fields(contents) == (position, 800, 60)  # its centre moved from the beginning
    for field in ("initial_position", "narrow_from", "narrow_updates"):
        del attention[field]
    assert fields(contents)[:2] == ("middle", 0)


class Malicious:
    """Unpickling it would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"format": 1}, "was written by another nmt (format 1)"),
        ([1, 2], "holds a list"),
        (torch.zeros(2), "holds a Tensor"),
        (GOOD, "is not an nmt checkpoint (KeyError: 'config')"),
        (GOOD | {"config": {}, "training": {"text": ""}}, "is not an nmt checkpoint (KeyError: 'random_cuda')"),
        (GOOD | {"config": {}}, "source.tokens: field required"),
        ({"model": {"x": torch.zeros(()).expand(10**6, 10**6)}}, "a tensor that is not dense"),
        ({"model": {"x": torch.zeros(2).to_sparse()}}, "a tensor that is not dense"),
        ({"model": {"x": torch.zeros(2, device="meta")}}, "a tensor that is not dense"),
        (Malicious, "is not an nmt checkpoint: it cannot be read (UnpicklingError"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_never_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], contents: Any, said: str
) -> None:
    trap = tmp_path / "trap"
    path = write_old(tmp_path / "old.pt", Malicious(trap) if contents is Malicious else contents)
    assert main(["migrate", str(path), str(tmp_path / "new.safetensors")]) == 2
    assert said in error_of(capsys)
    assert [file.name for file in tmp_path.iterdir()] == ["old.pt"]


def test_damage_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, new = write_old(tmp_path / "old.pt", GOOD), tmp_path / "new.safetensors"
    whole = path.read_bytes()
    for damaged, said in (
        (b"", "is not a complete checkpoint"),
        (whole[:-1], "is not a complete checkpoint"),
        (whole[:200] + b"x" + whole[201:], "its checksum is wrong"),
    ):
        path.write_bytes(damaged)
        assert main(["migrate", str(path), str(new)]) == 2
        assert said in error_of(capsys)
    new.touch()
    assert main(["migrate", str(path), str(new)]) == 2
    assert f"{new} already exists" in error_of(capsys)
    assert main(["migrate", str(tmp_path), str(tmp_path)]) == 2
    assert main(["migrate", str(tmp_path / "none"), str(tmp_path / "x")]) == 2
