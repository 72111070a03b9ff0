"""`docs/reference/file-formats.md` and `exit-codes.md` name all that is written, and nothing else."""

import json
import re
from dataclasses import fields
from pathlib import Path

from nmt.checkpoint import file as checkpoint_file
from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import Bucket
from nmt.evaluation.scores import Comparison

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "file-formats.md").read_text(encoding="utf-8")


def named(heading: str, text: str = PAGE) -> set[str]:
    """What is in code marks in a section of the page."""
    section = re.split(r"^## ", text.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
    return set(re.findall(r"`([^`]+)`", section))


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


def test_the_runs_files_and_what_is_in_them_are_documented(runs: Path) -> None:
    folder = runs / "bahdanau"
    evaluation = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    dataclasses = {field.name for kind in (Bucket, AlignmentScore, Comparison) for field in fields(kind)}
    assert evaluation.keys() | evaluation["models"][0].keys() | dataclasses <= named("evaluation.json")
    for name in ("best.safetensors", "last.safetensors"):
        contents = checkpoint_file.read(folder / name)
        keys = contents.keys() | contents["source"].keys() | (contents["training"] or {}).keys()
        assert keys <= named("Checkpoint")
        assert (contents["training"] is None) == (name == "best.safetensors")
    documented = {name.rstrip("/") for name in named("The run's folder")} | {"bleu_by_length.svg"}
    assert {path.name for path in folder.iterdir()} <= documented
