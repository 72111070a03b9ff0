"""Runs and commands in odd surroundings: closed streams, files that go away, folders of other users, no memory."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.runs import ConfigMaker, after_update, events, finish

import nmt
from nmt.cli import main
from nmt.config.reading import to_yaml
from nmt.system.errors import UserError
from nmt.training import loop

pytestmark = pytest.mark.long

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(nmt.__file__).parents[1]), *sys.path])}


def shell(command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], env=ENVIRONMENT, capture_output=True, encoding="utf-8", timeout=120, check=False, **more
    )


def test_closed_streams_are_like_those_of_a_daemon(tmp_path: Path, make_config: ConfigMaker) -> None:
    config = tmp_path / "a.yaml"
    config.write_text(to_yaml(make_config("training.max_updates=1", "name=a")), encoding="utf-8")
    program = f"{sys.executable} -m nmt"
    closed = shell(f"{program} train {config} <&- >&- 2>&-")
    assert closed.returncode == 0
    assert (tmp_path / "runs" / "a" / "evaluation.json").exists()
    for opened in (tmp_path / "runs" / "a").iterdir():  # nothing meant for a stream is in a file
        assert opened.suffix != ".jsonl" or all(map(json.loads, opened.read_text(encoding="utf-8").splitlines()))
    translated = shell(f"{program} translate {tmp_path}/runs/a/best.safetensors 'Ba De' >&-")
    assert translated.returncode == 2
    assert translated.stderr.startswith("error: standard output is closed")


def test_a_reader_that_has_enough_ends_the_command_without_an_error(best: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("Ba De Fi\n" * 1500, encoding="utf-8")  # several blocks, each larger than a buffer
    program = f"{sys.executable} -m nmt translate {best} --input {source} --json --beam 1"
    done = shell(f"{{ {program}; echo $? > {tmp_path}/code; }} | head -n 1")
    assert len(done.stdout.splitlines()) == 1
    assert (tmp_path / "code").read_text(encoding="utf-8") == "0\n"
    assert done.stderr == ""


@pytest.mark.parametrize("gone", ["metrics.jsonl", "the folder", "metrics.jsonl during a validation"])
def test_files_that_go_away_end_a_run_with_its_state_saved(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    config = make_config("training.max_updates=8")
    folder = Path(config.output_dir) / config.name
    real = loop.validate

    def remove() -> None:
        if gone == "the folder":
            shutil.rmtree(folder)
        else:
            (folder / "metrics.jsonl").unlink()

    def validate(*arguments: Any) -> Any:
        remove()
        return real(*arguments)

    with monkeypatch.context() as patch:
        if "validation" in gone:
            patch.setattr(loop, "validate", validate)
        else:
            after_update(patch, 6, remove)
        with pytest.raises(UserError, match=r"metrics\.jsonl was removed .* continue with --resume, from update 8"):
            finish(config)
    assert not (folder / "best.safetensors").exists()
    finish(config, resume=True)
    assert [event["update"] for event in events(folder, "validation")] == [8]
    assert (folder / "best.safetensors").exists()


def test_a_run_saves_nothing_in_a_folder_that_became_anothers(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config("training.max_updates=12")
    folder = Path(config.output_dir) / config.name

    def replace() -> None:
        shutil.rmtree(folder)
        folder.mkdir()
        for name in ("metrics.jsonl", "last.safetensors"):
            (folder / name).write_text("the other run's", encoding="utf-8")

    after_update(monkeypatch, 6, replace)
    with pytest.raises(UserError, match=r"metrics\.jsonl was replaced .* start over"):
        finish(config)
    assert {
        path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()
    } == dict.fromkeys(("metrics.jsonl", "last.safetensors"), "the other run's")


PROGRAM = """
import sys
from support.crashes import obey_permissions
from nmt.cli import main
obey_permissions()
good, closed = sys.argv[1:]
for arguments in (
    ["train", good, "--set", f"data.folder={closed}/data", "--set", "name=b"],
    ["train", good, "--set", f"output_dir={closed}/runs"],
    ["train", good, "--resume", "--set", f"output_dir={closed}"],
    ["train", f"{closed}/a.yaml"],
    ["average", f"{closed}/a.safetensors", "--output", f"{closed}/b.safetensors"],
    ["translate", f"{closed}/a.safetensors", "x"],
    ["translate", "--input", f"{closed}/a"],
    ["evaluate", f"{closed}/a.safetensors"],
):
    print(main(arguments))
"""


def test_folders_of_other_users(tmp_path: Path, make_config: ConfigMaker) -> None:
    good, closed = tmp_path / "good.yaml", tmp_path / "closed"
    good.write_text(to_yaml(make_config()), encoding="utf-8")
    closed.mkdir(mode=0o000)
    command = [sys.executable, "-c", PROGRAM, good, closed]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["2"] * 8
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 8
    assert all(str(closed) in error for error in errors)


def test_a_model_or_a_beam_that_no_memory_holds_is_refused(
    make_config: ConfigMaker, best: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for field in ("embedding_size", "encoder.hidden_size", "decoder.readout_size", "attention.size"):
        with pytest.raises(UserError, match=r"model: .* parameters take .* GiB of memory"):
            finish(make_config(f"model.{field}=1000000000"))
    capsys.readouterr()
    assert main(["translate", best, "--beam", "999999999", "Ba De"]) == 2
    assert "search.beam_size: input should be less than or equal to 10000" in capsys.readouterr().err
