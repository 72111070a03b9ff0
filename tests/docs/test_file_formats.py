"""`docs/reference/file-formats.md` and `exit-codes.md` name all that is written, and nothing else."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from nmt.checkpoint import file as checkpoint_file
from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import Bucket
from nmt.evaluation.scores import Comparison

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "file-formats.md").read_text(encoding="utf-8")


def named(heading: str, text: str = PAGE) -> set[str]:
    """What is in code marks in a section of the page."""
    section = re.split(r"^## ", text.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
    return set(re.findall(r"`([^`]+)`", section))


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def test_each_event_of_the_metrics_has_its_fields(runs: Path) -> None:
    events = [json.loads(line) for line in (runs / "bahdanau" / "metrics.jsonl").read_text().splitlines()]
    assert {event["event"] for event in events} == {"train", "validation", "end"}
    common = {"event", "update", "epoch"}
    assert common <= named("metrics.jsonl")
    for kind in ("train", "validation", "end"):
        paragraph = re.search(rf"^`{kind}`,.*?(?=^`|\Z|^## )", PAGE, re.MULTILINE | re.DOTALL)
        rows = [row.split("|")[1] for row in paragraph[0].splitlines() if row.startswith("| `")]
        documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
        [written] = {frozenset(event.keys() - common) for event in events if event["event"] == kind}
        assert documented == written, kind


def test_an_evaluation_has_its_fields(runs: Path) -> None:
    evaluation = json.loads((runs / "bahdanau" / "evaluation.json").read_text(encoding="utf-8"))
    documented = named("evaluation.json")
    assert evaluation.keys() <= documented
    assert evaluation["models"][0].keys() <= documented
    assert names(Bucket) | names(AlignmentScore) | names(Comparison) <= documented


def test_the_csv_has_its_columns(runs: Path) -> None:
    header = (runs / "bahdanau" / "bleu_by_length.csv").read_text(encoding="utf-8").splitlines()[0]
    assert set(header.split(",")) <= named("bleu_by_length.csv")


@pytest.mark.parametrize("name", ["best.safetensors", "last.safetensors"])
def test_a_checkpoint_has_its_keys(runs: Path, name: str) -> None:
    contents = checkpoint_file.read(runs / "bahdanau" / name)
    documented = named("Checkpoint")
    assert contents.keys() | contents["source"].keys() <= documented
    assert (contents["training"] or {}).keys() <= documented
    assert (contents["training"] is None) == (name == "best.safetensors")


def test_the_runs_folder_has_its_files(runs: Path) -> None:
    written = {path.name for path in (runs / "bahdanau").iterdir()}
    documented = {name.rstrip("/") for name in named("The run's folder")} | {"bleu_by_length.png", "bleu_by_length.svg"}
    assert written <= documented, written - documented
