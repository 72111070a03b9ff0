"""scripts/multi30k_scores.py: which models it trains and scores, and the table, where a test set cannot be fetched."""

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
            return 0
        split, folder = arguments[3], Path(arguments[5])
        if split == "test_2018_flickr":
            return 2
        folder.mkdir(parents=True)
        scores = {"bleu": len(trained) + 0.123, "chrf": 50.0}
        (folder / "evaluation.json").write_text(json.dumps({"models": [scores]}), encoding="utf-8")
        return 0

    monkeypatch.setattr(script, "nmt", nmt)
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n| model | old |\n", encoding="utf-8")
    assert script.main(["--languages", "fr", "cs", "--output", str(tmp_path), "--page", str(page)]) == 1
    title, _, *rows = page.read_text(encoding="utf-8").splitlines()
    assert title == "# Title"
    assert len(rows) == 2 + len(bundled.checkpoints()) + 4
    assert rows[-4] == "| fr-en | 1.12, 50.00 | 1.12, 50.00 | 1.12, 50.00 | – |"
    assert rows[-1] == "| en-cs | 4.12, 50.00 |  |  | – |"
    assert all(command[2] == "--resume" for command in trained)
    assert "--set=data.source.language=en" in trained[-1]
    assert "--set=data.target.language=cs" in trained[-1]
