"""What a run of the comparison recorded, and its result, are read as they were written."""

import json
from pathlib import Path

import pytest

from nmt.config.run import Config
from nmt.lab import result
from nmt.lab.measure import _events, _validation_bleu

RESULTS = Path(__file__).parents[2] / "docs" / "ablation" / "results"


def test_any_character_may_be_in_the_examples_of_a_run(tmp_path: Path) -> None:
    recorded = [{"event": "validation", "source": "ein\u2028Hund\u0085"}, {"event": "end", "seconds": 1.5}]
    lines = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in recorded)
    (tmp_path / "metrics.jsonl").write_text(lines, encoding="utf-8")
    assert _events(tmp_path) == recorded


@pytest.mark.parametrize(("metric", "bleu"), [("bleu", 2.0), ("loss", 1.0)])
def test_the_best_validation_is_that_of_the_metric(metric: str, bleu: float) -> None:
    """The log has null for a loss that is not finite."""
    found = zip([0.0, 1.0, 2.0], [None, 2.5, 3.0], strict=True)
    events = [{"event": "validation", "bleu": one, "loss": other} for one, other in found]
    config = Config.model_validate({"name": "x", "training": {"early_stopping": {"metric": metric}}})
    assert _validation_bleu(events, config) == bleu


def test_a_diverged_run_has_a_result(tmp_path: Path) -> None:
    diverged = result.read(RESULTS / "none.json").model_copy(update={"perplexity": float("inf")})
    result.write(diverged, tmp_path / "result.json")
    assert result.read(tmp_path / "result.json") == diverged
