"""The command line as its users meet it: files, exit codes, signals, bad input."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from support.cli import command, error_of, with_another_target_word, write_config

import nmt
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import COMMANDS, main


def events_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_run_leaves_the_promised_files(runs: Path) -> None:
    names = {path.name for path in (runs / "bahdanau").iterdir()} - {"tensorboard"}
    checkpoints = {f"{name}.safetensors" for name in ("best", "last", "previous")}
    figures = {f"bleu_by_length.{suffix}" for suffix in ("png", "svg")}
    assert names == {*checkpoints, *figures, "config.yaml", "metrics.jsonl", "evaluation.json", "translations"}
    texts = {path.name for path in (runs / "bahdanau" / "translations").iterdir()}
    assert texts == {"source.txt", "reference.txt", "bahdanau_best.txt"}
    events = [(event["event"], event["update"]) for event in events_of(runs / "bahdanau")]
    assert events == [("train", 2), ("train", 4), ("validation", 5), ("train", 5), ("end", 5)]


def test_the_resolved_config_repeats_the_run_which_is_never_overwritten(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(runs / "bahdanau" / "config.yaml")
    before = (runs / "bahdanau" / "last.safetensors").read_bytes()
    capsys.readouterr()
    assert main(["train", config]) == 2
    assert "--resume" in error_of(capsys)
    assert (runs / "bahdanau" / "last.safetensors").read_bytes() == before
    assert main(["train", config, "--set", f"output_dir={tmp_path}"]) == 0
    first, second = (
        checkpoint_file.read(folder / "bahdanau" / "best.safetensors")["model"] for folder in (runs, tmp_path)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_finished_run_is_prolonged_and_need_not_see_the_test_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", str(write_config(tmp_path)), "--set", "evaluation.split=validation"]
    assert main(train) == 0
    assert "Scores on validation" in capsys.readouterr().out
    assert main([*train, "--resume", "--set", "training.max_epochs=2"]) == 0
    evaluation = json.loads((tmp_path / "runs" / "tiny" / "evaluation.json").read_text(encoding="utf-8"))
    assert [model["split"] for model in evaluation["models"]] == ["validation"]
    events = events_of(tmp_path / "runs" / "tiny")
    assert [e["update"] for e in events if e["event"] == "validation"] == [5, 10]
    assert [e["update"] for e in events if e["event"] == "end"] == [10]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "missing.yaml"], ["missing.yaml", "No such file"]),
        (["train", "CONFIG", "--set", "data.source.train=/no/such"], ["/no/such", "does not exist"]),
        (["train", "CONFIG", "--set", "evaluation.split=copy"], ["'copy'", "validation"]),  # a method of the section
        (["translate", "CONFIG", "x"], ["CONFIG", "to translate its lines, use nmt translate --input"]),
        (["translate", "BEST", "x", "--attention", "a.gif"], ["a.gif", ".png"]),
        (["translate", "BEST", "x", "y", "--attention", "new/a.png"], ["--attention", "2"]),
        (["translate", "NONE", "x", "--attention", "a.png"], ["wiring"]),
        (["translate", "BEST", "x", "--attention", "BEST/a.png"], ["BEST", "cannot be created"]),
        (["translate", "BEST", "OTHER", "x"], ["BEST", "OTHER", "target tokens"]),
        (["average", "BEST", "--output", f"{'a' * 300}.safetensors"], ["aaa", "shorten it"]),
        (["train", "a\udcff.yaml"], ["a\\udcff.yaml", "not in UTF-8"]),
        (["translate", "BEST", "x", "--threads", "5000"], ["--threads 5000", "1024"]),
        (["evaluate"], ["CHECKPOINT", "--ensemble"]),
        (["transalte"], ["transalte", "translate"]),
        (["train", "CONFIG", "--set", "output_dir=/dev/null/x"], ["/dev/null/x", "cannot be created"]),
        (["translate", "BEST", "x", "--output", "y"], ["--output needs --input"]),
        (["score", "BEST", "--source", "BEST/../text.de", "--target", __file__], ["lines"]),
        (["average", "BEST", "--output", "mean.pt"], ["mean.pt", "ends in .safetensors"]),
        (["evaluate", "BEST", "--split", "tset"], ["tset", "validation"]),
        (["evaluate", "BEST", "--source", "x"], ["--reference"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_code_2(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    names = {
        "CONFIG": str(write_config(tmp_path)),
        "BEST": str(runs / "bahdanau" / "best.safetensors"),
        "NONE": str(runs / "none" / "best.safetensors"),
        "OTHER": str(with_another_target_word(runs / "bahdanau" / "best.safetensors", tmp_path / "other.safetensors")),
        "BEST/../best.safetensors": str(runs / "bahdanau" / ".." / "bahdanau" / "best.safetensors"),
        "BEST/../text.de": str(runs.parent / "text.de"),
        "BEST/a.png": str(runs / "bahdanau" / "best.safetensors" / "a.png"),
    }
    arguments = [names.get(argument, argument) for argument in arguments]
    capsys.readouterr()
    assert main(arguments) == 2
    error = error_of(capsys)
    for word in words:
        assert names.get(word, word) in error
    assert not (tmp_path / "runs").exists()
    assert not (Path.cwd() / "new").exists()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_the_run_can_be_resumed(tmp_path: Path, number: signal.Signals) -> None:
    long = ["--set", "training.max_epochs=12", "--set", "training.validate_every=1000"]
    train = ["train", str(write_config(tmp_path)), *long]
    metrics = tmp_path / "runs" / "tiny" / "metrics.jsonl"
    with subprocess.Popen(
        command(*train),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup has one of them ignored
    ) as process:
        while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
            time.sleep(0.005)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors.decode()
    assert "--resume" in output.decode().splitlines()[-1]
    assert "Traceback" not in errors.decode()
    stopped = checkpoint_file.read(metrics.with_name("last.safetensors"))
    assert 0 < stopped["training"]["state"]["update"] < 60
    assert main([*train, "--resume"]) == 0


def test_help_says_what_each_command_is_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["nmt"])
    for arguments in (["--help"], None, ["--version"], *([name, "--help"] for name in COMMANDS)):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        if arguments in (["--help"], None):
            assert all(f"  {name} " in printed and purpose in printed for name, purpose in COMMANDS.items())
        elif arguments == ["--version"]:
            assert printed == f"nmt {nmt.__version__}\n"
        else:
            assert printed.startswith(f"usage: nmt {arguments[0]}")
    monkeypatch.setattr("nmt.cli.COMMANDS", {name: COMMANDS[name] for name in COMMANDS if name != "ablation"})
    assert main(["ablation"]) == 2
    assert error_of(capsys) == "error: ablation belongs to the add-on nmt.lab, which is not installed\n"
