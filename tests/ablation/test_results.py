"""What a run of the comparison recorded, and its result, are read as they were written."""

import json
from pathlib import Path

from nmt.ablation import result
from nmt.ablation.measure import _events

RESULTS = Path(__file__).parents[2] / "docs" / "ablation" / "results"


def test_any_character_may_be_in_the_examples_of_a_run(tmp_path: Path) -> None:
    recorded = [{"event": "validation", "source": "ein\u2028Hund\u0085"}, {"event": "end", "seconds": 1.5}]
    lines = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in recorded)
    (tmp_path / "metrics.jsonl").write_text(lines, encoding="utf-8")
    assert _events(tmp_path) == recorded


def test_a_diverged_run_has_a_result(tmp_path: Path) -> None:
    diverged = result.read(RESULTS / "none.json").model_copy(update={"perplexity": float("inf")})
    result.write(diverged, tmp_path / "result.json")
    assert result.read(tmp_path / "result.json") == diverged
