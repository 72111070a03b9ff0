"""The comparison of attention mechanisms, on a corner of the sample corpus: results, page, going on, failing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from PIL import Image
from support.cli import ROOT, error_of
from support.processes import run_among_planted_modules
from support.texts import write_part_of_sample

from nmt.addons import offered
from nmt.cli import main
from nmt.config.reading import load_config
from nmt.lab import result

PAIRS = {"train": 60, "validation": 10, "test": 30}
ATTENTION = {"none": {"wiring": "none"}, "luong": {"wiring": "luong", "score": "dot", "input_feeding": False}}


def write_configs(folder: Path) -> list[str]:
    """A small sample corpus and two configs for it, whose runs take seconds; returns the configs' paths."""
    write_part_of_sample(folder / "data", **PAIRS)
    for name, attention in ATTENTION.items():
        sizes = {"embedding_size": 8, "encoder": {"hidden_size": 8}, "decoder": {"hidden_size": 16}}
        training = {"max_updates": 60, "validate_every": 500, "batch_size": 4, "log_every": 4}
        values = {
            "name": name,
            "output_dir": str(folder / "runs"),
            "data": {"corpus": "sample", "folder": str(folder / "data")},
            "model": sizes | {"attention": attention},
            "training": training | {"device": "cpu", "threads": 1},
            "search": {"beam_size": 1, "max_length": 12},
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return [str(folder / f"{name}.yaml") for name in ATTENTION]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two finished runs and their page."""
    folder = tmp_path_factory.mktemp("ablation")
    configs = write_configs(folder)
    assert main(["ablation", *configs, "--output", str(folder / "page"), "--jobs", "2"]) == 0
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    """The finished runs once more, at another place that belongs to the test alone."""
    write_configs(tmp_path)
    for name in ATTENTION:
        shutil.copytree(finished / "runs" / name, tmp_path / "runs" / name)
        for file in ("result.json", "config.yaml"):
            path = tmp_path / "runs" / name / file
            path.write_text(path.read_text(encoding="utf-8").replace(str(finished), str(tmp_path)), encoding="utf-8")
    return tmp_path


def ablation(folder: Path, *arguments: str) -> int:
    configs = [str(folder / f"{name}.yaml") for name in ATTENTION]
    return main(["ablation", *configs, "--output", str(folder / "page"), "--jobs", "2", *arguments])


def results_of(folder: Path) -> dict[str, result.Result]:
    return {name: result.read(folder / "runs" / name / "result.json") for name in ATTENTION}


def modified(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_result_holds_what_was_measured(finished: Path) -> None:
    results = results_of(finished)
    for name, measured in results.items():
        folder = finished / "runs" / name
        lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines]
        speeds = sorted(event["target_tokens_per_second"] for event in events if event["event"] == "train")
        assert measured.config == load_config(finished / f"{name}.yaml")
        assert measured.bleu_low <= measured.bleu <= measured.bleu_high
        assert measured.validation_bleu == max(e["bleu"] for e in events if e["event"] == "validation")
        assert 1 < measured.perplexity < 1000
        assert measured.target_tokens_per_second is not None
        assert speeds[0] <= measured.target_tokens_per_second <= speeds[-1]
        assert measured.minutes == events[-1]["seconds"] / 60
        assert all(name in measured.machine for name in ("Python", "PyTorch"))
    assert results["none"].alignment is None
    assert results["luong"].alignment is not None
    assert results["none"].entropy is None
    if offered("attention_statistics") is not None:  # at most that of equal weights for all of the longest source
        assert 0 < (results["luong"].entropy or 0) < 6
        markdown = (finished / "page" / "README.md").read_text(encoding="utf-8")
        assert f" | {results['luong'].entropy:.2f} | " in markdown
    assert results["luong"].parameters != results["none"].parameters


def test_the_page_says_it_all(finished: Path) -> None:
    markdown = (finished / "page" / "README.md").read_text(encoding="utf-8")
    results = results_of(finished)
    assert all(words in markdown for words in ("**synthetic**", "German→English", "30 sentence pairs", "60 updates"))
    assert all(words in markdown for words in ("Machine: ", "lower-cased sacreBLEU", "`nrefs:1|case:lc"))
    assert f"nmt ablation {finished}" in markdown
    rows = [line.split(" | ") for line in markdown.split("\n") if line.startswith(("| none ", "| luong "))]
    assert [row[0] for row in rows] == ["| none", "| luong"] * 2
    assert [row[1:5] for row in rows[:2]] == [["none", *"–––"], ["luong", "dot", "global", "no input feeding"]]
    alignment = results["luong"].alignment
    assert alignment is not None
    for row, measured, aer in zip(rows, results.values(), ("–", f"{100 * alignment.error_rate:.1f}"), strict=False):
        bleu = f"{measured.bleu:.2f} ({measured.bleu_low:.2f}–{measured.bleu_high:.2f})"
        assert [*row[5:7], row[8]] == [f"{measured.validation_bleu:.2f}", bleu, aer]
        assert f"{measured.parameters:,}" in row
    for picture in ("bleu_by_length.png", "heat_maps.png"):
        assert f"]({picture})" in markdown
        with Image.open(finished / "page" / picture) as image:
            assert image.width > 500


def test_finished_runs_are_skipped_and_text_outside_of_the_markers_is_kept(
    copy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy / "page" / "README.md"
    path.parent.mkdir()
    path.write_text("# Mine\n\n<!-- results -->\nof yesterday\n<!-- /results -->\n\nConclusions.\n", encoding="utf-8")
    before = modified(copy / "runs")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a run was started"))
    assert ablation(copy) == 0
    assert "2 of 2 runs are finished, and skipped" in capsys.readouterr().out
    assert modified(copy / "runs") == before
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Mine\n\n<!-- results -->\n")
    assert text.endswith("\n<!-- /results -->\n\nConclusions.\n")
    assert "yesterday" not in text
    assert "| luong |" in text


@pytest.mark.long
def test_a_stop_saves_and_the_same_command_goes_on(finished: Path, tmp_path: Path) -> None:
    configs = write_configs(tmp_path)
    command = [sys.executable, str(ROOT / "scripts" / "ablation.py"), *configs]
    with subprocess.Popen(
        [*command, "--output", str(tmp_path / "page"), "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        metrics = tmp_path / "runs" / "none" / "metrics.jsonl"
        while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors.decode()
    assert "Traceback" not in errors.decode()
    assert "0 of 2 runs are finished" in output.decode().splitlines()[-1]
    assert metrics.with_name("last.safetensors").exists()
    assert not metrics.with_name("result.json").exists()
    assert not (tmp_path / "runs" / "luong").exists()
    assert not (tmp_path / "page" / "README.md").exists()
    assert main(["ablation", configs[0], "--output", str(tmp_path / "page")]) == 0
    timed = {"config", "target_tokens_per_second", "minutes"}
    again, whole = (result.read(folder / "runs" / "none" / "result.json") for folder in (tmp_path, finished))
    assert again.model_dump(exclude=timed) == whole.model_dump(exclude=timed)


@pytest.mark.long
def test_a_failure_is_reported_and_loses_no_other(copy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ATTENTION:
        (copy / "runs" / name / "result.json").unlink()
    (copy / "runs" / "none" / "last.safetensors").write_bytes(b"damaged")
    (copy / "runs" / "none" / "previous.safetensors").unlink(missing_ok=True)
    assert ablation(copy) == 2
    captured = capfd.readouterr()
    (line,) = captured.err.splitlines()
    log = copy / "runs" / "none" / "log.txt"
    assert line.startswith("none: failed: exit code 2 ")
    assert str(log) in line
    assert line.endswith(log.read_text(encoding="utf-8").splitlines()[-1])
    assert "luong: done" in captured.out
    assert (copy / "runs" / "luong" / "result.json").exists()
    markdown = (copy / "page" / "README.md").read_text(encoding="utf-8")
    assert "| luong |" in markdown
    assert "**Missing, because the run failed:** none" in markdown


def test_bad_input_is_one_line_and_code_2(
    copy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy)
    values = yaml.safe_load((copy / "none.yaml").read_text(encoding="utf-8"))
    (copy / "damaged.yaml").write_text(yaml.safe_dump(values | {"name": "damaged"}), encoding="utf-8")
    values["training"]["seed"] = 2
    (copy / "other.yaml").write_text(yaml.safe_dump(values | {"name": "other"}), encoding="utf-8")
    (copy / "runs" / "damaged").mkdir()
    (copy / "runs" / "damaged" / "result.json").write_text("{}", encoding="utf-8")
    (copy / "written").mkdir()
    (copy / "written" / "README.md").write_text("By hand.\n", encoding="utf-8")
    before = modified(copy)
    for arguments, words in (
        (["none.yaml", "none.yaml"], ["twice"]),
        (["none.yaml", "luong.yaml", "--set", "name=x"], ["none.yaml", "luong.yaml", "x"]),
        (["none.yaml", "other.yaml"], ["other.yaml", "training.seed"]),
        (["none.yaml", "--set", "training.max_updates=7"], ["runs/none", "training.max_updates", "output_dir"]),
        (["none.yaml", "--output", "written"], ["written", "<!-- results -->"]),
        (["damaged.yaml"], ["damaged/result.json", "delete"]),
    ):
        assert main(["ablation", *arguments]) == 2
        error = error_of(capsys)
        assert all(word in error for word in words)
        assert modified(copy) == before


def test_runs_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    script = f"""
from nmt.config.reading import load_config
from nmt.lab import runs
child = runs._start(load_config({str(ROOT / "configs" / "quickstart.yaml")!r}, ["data.folder=/dev/null"]))
child.process.wait()
assert "error: /dev/null" in (log := child.log.read_text()), log  # of the run itself
"""
    run_among_planted_modules(script, tmp_path, PYTHONPATH=str(ROOT))
