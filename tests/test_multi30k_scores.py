"""scripts/multi30k_scores.py: what it trains and scores, and its table, also after a failure and a second time."""

import importlib.util
import json
from pathlib import Path

import pytest

from nmt.system import bundled

ROOT = Path(__file__).parents[1]


def test_each_direction_is_trained_scored_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("multi30k_scores", ROOT / "scripts" / "multi30k_scores.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    trained: list[list[str]] = []

    def nmt(arguments: list[str]) -> int:
        if arguments[0] == "train":
            trained.append(arguments)
            return 2 * ("--set=name=en-fr" in arguments)
        split, folder = arguments[3], Path(arguments[5])
        if split == "test_2018_flickr":
            return 2
        folder.mkdir(parents=True)  # an evaluation never replaces another
        scores = {"bleu": len(trained) + 0.123, "chrf": 50.0}
        (folder / "evaluation.json").write_text(json.dumps({"models": [scores]}), encoding="utf-8")
        return 0

    monkeypatch.setattr(script, "nmt", nmt)
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n| model | old |\n| --- | --: |\n| en-fr | 9 |\n", encoding="utf-8")
    for languages in (["fr", "cs"], ["cs"]):
        command = ["--languages", *languages, "--output", str(tmp_path), "--page", str(page)]
        assert script.main(command) == 1
    title, _, *rows = page.read_text(encoding="utf-8").splitlines()
    assert title == "# Title"
    assert len(rows) == 2 + len(bundled.checkpoints()) + 4
    assert rows[2] == "| en-fr | 9 |", "whose training failed"
    assert "| fr-en | 1.12, 50.00 | 1.12, 50.00 | 1.12, 50.00 | – |" in rows, "of the first command"
    assert rows[-1] == "| en-cs | 6.12, 50.00 |  |  | – |", "of the second command"
    assert all(command[2] == "--resume" for command in trained)
    assert "--set=data.source.language=en" in trained[-1]
    assert "--set=data.target.language=cs" in trained[-1]
