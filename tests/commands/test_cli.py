"""The command line as its users meet it: files, exit codes, signals, bad input."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from support.cli import ROOT, command, error_of, with_another_target_word, write_config

import nmt
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import COMMANDS, main
from nmt.system import bundled


def test_a_run_leaves_the_promised_files(runs: Path) -> None:
    names = {path.name for path in (runs / "bahdanau").iterdir()} - {"tensorboard"}
    assert names == {
        *(
            "best.safetensors",
            "last.safetensors",
            "previous.safetensors",
            "config.yaml",
            "metrics.jsonl",
            "evaluation.json",
        ),
        *("bleu_by_length.png", "bleu_by_length.svg", "bleu_by_length.csv", "translations"),
    }
    texts = {path.name for path in (runs / "bahdanau" / "translations").iterdir()}
    assert texts == {"source.txt", "reference.txt", "bahdanau_best.txt"}


def test_metrics_have_an_event_for_each_lap_and_validation(runs: Path) -> None:
    lines = (runs / "bahdanau" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["train", "train", "validation", "train", "end"]
    assert [event["update"] for event in events] == [2, 4, 5, 5, 5]


def test_the_resolved_config_repeats_the_run(runs: Path, tmp_path: Path) -> None:
    again = ["train", str(runs / "bahdanau" / "config.yaml"), "--set", f"output_dir={tmp_path}"]
    assert main(again) == 0
    first, second = (
        checkpoint_file.read(folder / "bahdanau" / "best.safetensors")["model"] for folder in (runs, tmp_path)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_choice_of_settings_need_not_see_the_test_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(write_config(tmp_path)), "--set", "evaluation.split=validation"]) == 0
    assert "Scores on validation" in capsys.readouterr().out
    evaluation = json.loads((tmp_path / "runs" / "tiny" / "evaluation.json").read_text(encoding="utf-8"))
    assert [model["split"] for model in evaluation["models"]] == ["validation"]


def test_a_run_is_never_overwritten(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (runs / "bahdanau" / "last.safetensors").read_bytes()
    config = str(runs / "bahdanau" / "config.yaml")
    capsys.readouterr()
    assert main(["train", config]) == 2
    assert "--resume" in error_of(capsys)
    assert (runs / "bahdanau" / "last.safetensors").read_bytes() == before


def test_a_finished_run_is_prolonged(tmp_path: Path) -> None:
    config = str(write_config(tmp_path))
    assert main(["train", config]) == 0
    assert main(["train", config, "--resume", "--set", "training.max_epochs=2"]) == 0
    lines = (tmp_path / "runs" / "tiny" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [e["update"] for e in events if e["event"] == "validation"] == [5, 10]
    assert [e["update"] for e in events if e["event"] == "end"] == [10]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "missing.yaml"], ["missing.yaml", "No such file"]),
        (["train", "CONFIG", "--set", "training.batchsize=3"], ["training.batchsize", "batch_size"]),
        (["train", "CONFIG", "--set", "training.batch_size=many"], ["training.batch_size", "'many'"]),
        (["train", "CONFIG", "--set", "model.attention.score=dot", "--set", "model.encoder.hidden_size=9"], ["to 18,"]),
        (["train", "CONFIG", "--set", "data.source.train=/no/such"], ["/no/such", "does not exist"]),
        (["train", "CONFIG", "--set", "training.device=tpu9"], ["tpu9"]),
        (["train", "CONFIG", "--set", "evaluation.split=tset"], ["'tset'", "validation"]),
        (["train", "CONFIG", "--set", "evaluation.split=copy"], ["'copy'", "validation"]),  # a method of the section
        (["translate", "missing.safetensors", "x"], ["missing.safetensors", "does not exist"]),
        (["translate", "CONFIG", "x"], ["CONFIG", "is not a checkpoint: to translate its lines, use --input"]),
        (["translate", "FOLDER", "x"], ["FOLDER", "folder", "best.safetensors"]),
        (["translate", "BEST", "x", "--attention", "a.gif"], ["a.gif", ".png"]),
        (["translate", "BEST", "x", "y", "--attention", "new/a.png"], ["--attention", "2"]),
        (["translate", "NONE", "x", "--attention", "a.png"], ["wiring"]),
        (["translate", "BEST", " ", "--attention", "a.png"], ["--attention", "empty"]),
        (["translate", "BEST", "x", "--attention", "BEST/a.png"], ["BEST", "cannot be created"]),
        (["translate", "BEST", "x", "--beam", "0"], ["--beam", "'0'", "nmt translate --help"]),
        (["translate", "BEST", "x", "--bean", "3"], ["--bean", "nmt translate --help"]),
        (["translate", "BEST", "missing.safetensors", "x"], ["missing.safetensors", "does not exist"]),
        (["translate", "BEST", "OTHER", "x"], ["BEST", "OTHER", "target tokens"]),
        (["average", "BEST", "OTHER", "--output", "mean.safetensors"], ["BEST", "OTHER", "target tokens"]),
        (["average", "BEST", "NONE", "--output", "mean.safetensors"], ["BEST", "NONE", "model.attention.wiring"]),
        (["average", "BEST", "BEST", "--output", "mean.safetensors"], ["twice"]),
        (["average", "BEST", "--output", "a" * 300], ["aaa", "shorten it"]),
        (["train", "a\udcff.yaml"], ["a\\udcff.yaml", "not in UTF-8"]),
        (["translate", "BEST", "x", "--threads", "9" * 11], ["--threads", "999,999,999"]),
        (["translate", "BEST", "x", "--threads", "5000"], ["--threads 5000", "1024"]),
        (["average", "BEST"], ["--output", "nmt average --help"]),
        (["evaluate"], ["CHECKPOINT", "--ensemble"]),
        (["evaluate", "--ensemble", "BEST", "BEST"], ["twice"]),
        (["transalte"], ["'transalte'", "translate"]),
        (["evaluate", "BEST", "--buckets", "abc"], ["--buckets", "'abc'", "10,20,30"]),
        (["evaluate", "BEST", "--output", "BEST/x"], ["BEST", "cannot be written"]),
        (["train", "CONFIG", "--set", "output_dir=/dev/null/x"], ["/dev/null/x", "cannot be created"]),
        (["translate", "NONE", "x", "--replace-unk"], ["replace_unk", "wiring"]),
        (["translate", "BEST", "x", "--n-best", "9"], ["9 best", "beam"]),
        (["translate", "BEST", "x", "--length-penalty", "-1"], ["length_penalty"]),
        (["translate", "BEST", "x", "--temperature", "0"], ["search.sampling.temperature", "greater than 0"]),
        (["translate", "BEST", "x", "--seed", "2"], ["--seed", "add --temperature 1"]),
        (["translate", "BEST", "x", "--top-k", "9", "--n-best", "9999"], ["n_best (9999)", "lower it"]),
        (["evaluate", "BEST", "--precision", "fp8"], ["--precision", "fp8", "bf16"]),
        (["translate", "BEST", "x", "--input", "y"], ["--input"]),
        (["translate", "BEST", "--input", "missing.txt"], ["missing.txt"]),
        (["evaluate", "BEST", "BEST"], ["twice"]),
        (["average", "BEST", "BEST/../best.safetensors", "--output", "mean.safetensors"], ["twice"]),
        (["calibrate", "BEST", "--output", "x.safetensors", "--threads", "-1"], ["--threads", "'-1'"]),
        (["evaluate", "BEST", "--split", "tset"], ["tset", "validation"]),
        (["evaluate", "BEST", "--source", "x"], ["--reference"]),
        (["evaluate", "BEST", "--source", "BEST", "--reference", "missing"], ["UTF-8"]),
        (["evaluate", "BEST", "--buckets", "20,10"], ["bucket edges 20, 10"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_code_2(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    names = {
        "CONFIG": str(write_config(tmp_path)),
        "FOLDER": str(runs),
        "BEST": str(runs / "bahdanau" / "best.safetensors"),
        "NONE": str(runs / "none" / "best.safetensors"),
        "OTHER": str(with_another_target_word(runs / "bahdanau" / "best.safetensors", tmp_path / "other.safetensors")),
        "BEST/../best.safetensors": str(runs / "bahdanau" / ".." / "bahdanau" / "best.safetensors"),
        "BEST/x": str(runs / "bahdanau" / "best.safetensors" / "x"),
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


LONG = ["--set", "training.max_epochs=12", "--set", "training.validate_every=1000"]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The last weights of a long run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert main(["train", str(write_config(folder)), *LONG]) == 0
    return checkpoint_file.read(folder / "runs" / "tiny" / "last.safetensors")["model"]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_resuming_ends_as_if_nothing_had_happened(
    tmp_path: Path, undisturbed: dict[str, torch.Tensor], number: signal.Signals
) -> None:
    config = str(write_config(tmp_path))
    metrics = tmp_path / "runs" / "tiny" / "metrics.jsonl"
    with subprocess.Popen(
        command("train", config, *LONG),
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
    assert main(["train", config, *LONG, "--resume"]) == 0
    resumed = checkpoint_file.read(metrics.with_name("last.safetensors"))["model"]
    assert all(torch.equal(undisturbed[name], resumed[name]) for name in undisturbed)


def test_help_says_what_each_command_is_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["nmt"])
    for arguments in (["--help"], None):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        for name, purpose in COMMANDS.items():
            assert f"  {name} " in shown
            assert purpose in shown
    for name in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: nmt {name}")


def test_a_command_that_is_not_installed_names_its_addon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmt.cli.COMMANDS", {name: COMMANDS[name] for name in COMMANDS if name != "ablation"})
    assert main(["ablation"]) == 2
    assert error_of(capsys) == "error: ablation belongs to the add-on nmt.lab, which is not installed\n"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"nmt {nmt.__version__}\n"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {nmt.__version__}" in changes


def test_a_full_disk_is_said_though_the_output_was_kept_to_the_end(tmp_path: Path) -> None:
    for name in ("text.de", "text.en"):
        (tmp_path / name).write_text("".join(f"{n}\n" for n in range(9)), encoding="utf-8")
    sets = ["split", "text.de", "text.en", "--output", "sets", "--validation", "2", "--test", "2"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "nmt", *sets], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, env=environment
        )
    assert done.returncode == 2
    assert done.stderr.decode().startswith("error: cannot write the output (No space left on device)")
    assert done.stderr.count(b"\n") == 1


def test_python_runs_the_package_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "nmt", "--version"], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.decode() == f"nmt {nmt.__version__}\n"


def test_a_bundled_config_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "quickstart", "--set", "nmae=x"]) == 2
    said, error = capsys.readouterr().err.splitlines()
    assert said == f"Using the bundled config {bundled.CONFIGS / 'quickstart.yaml'}"
    assert "nmae" in error
