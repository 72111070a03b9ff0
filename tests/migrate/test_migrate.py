"""nmt 0.3: its checkpoints become those of this version, down to the last bit, and its configs are read."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.cli import error_of
from support.config_reading import read, refusal
from support.runs import HARD, ConfigMaker, assert_same, assert_same_run, finish, run_and_stop

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main
from nmt.config.reading import apply_override
from nmt.config.run import Config
from nmt.migrate.config import upgrade
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]


def write_old(path: Path, contents: Any) -> Path:
    """Write contents as nmt 0.3 did: an archive of `torch.save` whose comment is its SHA-256."""
    buffer = io.BytesIO()
    torch.save(contents, buffer)
    archive = buffer.getvalue()[:-2] + (71).to_bytes(2, "little")
    path.write_bytes(archive + b"sha256:" + hashlib.sha256(archive).hexdigest().encode())
    return path


def old_contents(path: Path) -> dict[str, Any]:
    """The contents of a checkpoint as they were in nmt 0.3."""
    contents = checkpoint_file.read(path) | {"format": 3, "selection": {"frequent": torch.arange(6)}}
    contents["config"]["search"]["vocabulary_selection"] = True  # the default then
    contents["config"]["training"]["r_drop"] = 3
    del contents["config"]["data"]["normalize"]
    if (training := contents["training"]) is not None:
        moments: dict[int, dict[str, Any]] = {}
        for name, moment in training["optimizer"].items():
            index, _, kind = name.partition(".")
            moments.setdefault(int(index), {})[kind] = moment
        training |= {"optimizer": moments, "random": list(training["random"]), "random_cuda": [None]}
    return contents


@pytest.mark.parametrize("int8", [False, True])
def test_a_model_stays_as_it_was(tmp_path: Path, make_translator: Maker, int8: bool) -> None:
    config, translator = make_translator("model.tied_embeddings=target")
    path, new = tmp_path / "best.safetensors", tmp_path / "new.safetensors"
    checkpoint.save(path, config, translator.source, translator.target, translator.model, int8=int8)
    checkpoint.set_thresholds(path, path, -1.5, 3.0)
    old = write_old(tmp_path / "best.pt", old_contents(path))
    assert main(["migrate", str(old), str(new)]) == 0
    assert_same(checkpoint_file.read(new), checkpoint_file.read(path))
    assert abs(new.stat().st_size - path.stat().st_size) < 10  # what two weights share is stored once


@pytest.mark.parametrize(
    ("token", "is_normalized"), [("ä", True), ("a\u0308", False), ("\u0308", False), ("\xad", False)]
)
def test_text_is_normalised_for_models_of_such_text(
    tmp_path: Path, make_translator: Maker, token: str, is_normalized: bool
) -> None:
    config, translator = make_translator("data.source.tokenizer=char")
    path, new = tmp_path / "best.safetensors", tmp_path / "new.safetensors"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    contents = old_contents(path)
    contents["source"]["tokens"][-1] = token
    assert main(["migrate", str(write_old(tmp_path / "best.pt", contents)), str(new)]) == 0
    loaded = Translator.load(new)
    assert loaded.source.normalize == loaded.target.normalize == is_normalized


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


class Malicious:
    """Unpickling it would make a folder."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("trap",)


def with_tensor(tensor: torch.Tensor) -> Callable[[dict[str, Any]], object]:
    return lambda contents: contents["model"].update({"decoder.output.bias": tensor})


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        (lambda c: c.update(format=2), "was written by another nmt (format 2)"),
        (lambda c: c.update(training={"text": ""}), "is not an nmt checkpoint: it cannot be read (KeyError: "),
        (lambda c: c["source"].pop("tokens"), "is not an nmt checkpoint"),
        (with_tensor(torch.zeros(()).expand(10**6, 10**6)), "decoder.output.bias is real numbers of shape (1000000, "),
        (with_tensor(torch.zeros(12).to_sparse()), "is not an nmt checkpoint: it cannot be read"),
        (lambda c: c.update(model=Malicious()), "it cannot be read (UnpicklingError"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_never_run(
    tmp_path: Path,
    make_translator: Maker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    alter: Callable[[dict[str, Any]], object],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    config, translator = make_translator()
    path = tmp_path / "best.safetensors"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    contents = old_contents(path)
    alter(contents)
    path.unlink()
    old = write_old(tmp_path / "old.pt", contents)
    capsys.readouterr()
    assert main(["migrate", str(old), "new.safetensors"]) == 2
    assert reason in error_of(capsys)
    assert not any(Path(name).exists() for name in ("trap", "new.safetensors"))


def test_damage_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, new = write_old(tmp_path / "old.pt", [1, 2]), tmp_path / "new.safetensors"
    whole = path.read_bytes()
    wrong = "its checksum is wrong"
    for content, reason in ((whole, "it cannot be read (TypeError"), (b"", wrong), (whole[:-1], wrong)):
        path.write_bytes(content)
        assert main(["migrate", str(path), str(new)]) == 2
        assert reason in error_of(capsys)
    new.touch()
    assert main(["migrate", str(path), str(new)]) == 2
    assert f"{new} already exists" in error_of(capsys)
    assert main(["migrate", str(tmp_path / "none"), str(tmp_path / "x")]) == 2


def test_old_names_in_a_config_are_read_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = "tokenizer: sentencepiece"
    sides = f"source: {{{kind}, respelling: 0.2, monolingual: a}}, target: {{{kind}, monolingual: b}}"
    old = f"name: x\ndata: {{joint_vocabulary: true, copying: 0.1, {sides}}}\n"
    augment = "augment: {typos: 0.2, copying: 0.1, source_monolingual: a, target_monolingual: b}"
    new = f"name: x\ndata: {{joint_vocabulary: true, source: {{{kind}}}, target: {{{kind}}}, {augment}}}\n"
    schedule = "training.schedule={decay: 0.3, kind: "
    assert read(tmp_path, old, f"{schedule}trapezoid}}") == read(tmp_path, new, f"{schedule}warmup_stable_decay}}")
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 5
    assert warnings[0].endswith(
        "kind: trapezoid is now called warmup_stable_decay; the old name ends with the next version"
    )
    assert "data.source.respelling is now called data.augment.typos" in warnings[1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("training.r_drop", 3),
        ("data.source.subword_sampling", 0),
        ("training.precision", "int8"),
        ("search.vocabulary_selection", True),
    ],
)
def test_an_option_that_is_gone_is_refused_unless_it_is_unset(tmp_path: Path, field: str, value: object) -> None:
    message = refusal(tmp_path, "name: x", f"{field}={value}")
    assert f"{field} ({value}) has no effect since 0.4 (0.3 was its last); remove it" in message
    values: dict[str, Any] = {}
    apply_override(f"{field}={value}", values)
    upgrade(values, "old.pt", quiet=True)
    assert field.rsplit(".", 1)[1] not in str(values)
    unset = "name: x\ntraining: {r_drop: null}\nsearch: {vocabulary_selection: false}\nmodel: {word_dropout: 0.0}"
    assert read(tmp_path, unset) == read(tmp_path, "name: x")
