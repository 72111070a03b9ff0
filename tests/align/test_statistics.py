"""Attention statistics against values worked out by hand, and where they are written."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from nmt.align.statistics import entropy, statistics, table
from nmt.cli import main
from nmt.evaluation import scores
from nmt.evaluation.report import ModelEvaluation
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

WEIGHTS = [  # of pairs with 3 source tokens, and of 1; the last column is <eos>
    [[1, 0, 0, 0], [1, 0, 0, 0], [0.5, 0.1, 0.4, 0], [0, 0, 0.5, 0.5]],
    [[0, 0], [0.5, 0]],
]


class Fixed:
    """Stands for a translator, with the weights above."""

    has_attention = True

    def forced_attention(self, sources, targets):
        assert (len(sources), len(targets)) == (2, 2)  # without the empty pair
        return [torch.tensor(weights) for weights in WEIGHTS]


def test_values_worked_out_by_hand() -> None:
    text = ParallelText(["a b c", "", "a"], ["x y z", "x", "x"])
    mixed = -(0.5 * np.log2(0.5) + 0.1 * np.log2(0.1) + 0.4 * np.log2(0.4))
    assert entropy(np.array(WEIGHTS[0])) == pytest.approx([0, 0, mixed, 1])
    assert entropy(np.array(WEIGHTS[1])) == pytest.approx([0])  # a step without weights is left out
    assert statistics(Fixed(), text) == pytest.approx(
        {  # the sums are 2.5, 0.1, 0.9 and 0.5
            "entropy": (mixed + 1) / 5,
            "unattended": 1 / 4,
            "overattended": 1 / 4,
            "deviation": (1.5 + 0.9 + 0.1 + 0.5) / 4,
        }
    )


def test_models_without_attention_and_texts_without_words_have_none(runs: Path, best: str) -> None:
    text = ParallelText(["der Hund läuft"] * 3, ["the dog runs"] * 3)
    assert statistics(Translator.load(runs / "none" / "best.safetensors"), text) == {}
    translator = Translator.load(best)
    assert statistics(translator, ParallelText([""], ["a"])) == {}
    assert statistics(translator, text) == pytest.approx(statistics(translator, text, most=1))
    of_none = scores.score(["a"], ["a"], "en")
    evaluations = [ModelEvaluation("a.safetensors", "test", of_none, [], None, values) for values in ({}, None)]
    assert table(evaluations) == ""


def test_evaluate_and_validation_report_them(runs: Path, best: str, tmp_path: Path, capsys) -> None:
    none = str(runs / "none" / "best.safetensors")
    assert main(["evaluate", best, none, "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    with_attention, without = json.loads((tmp_path / "out" / "evaluation.json").read_text())["models"]
    values = with_attention["attention"]
    assert without["attention"] == {}
    assert 0 < values["entropy"] < 3
    row = printed.split("Attention while the reference is read\n")[1].splitlines()[1:3]
    assert row[0].split()[1:] == [f"{f * x:.2f}" for f, x in zip((1, 100, 100, 1), values.values(), strict=True)]
    assert row[1].split()[1:] == ["-"] * 4
    events = [json.loads(line) for line in (runs / "bahdanau" / "metrics.jsonl").read_text().splitlines()]
    last = [event for event in events if event["event"] == "validation"][-1]
    assert {f"attention_{name}": pytest.approx(value) for name, value in values.items()}.items() <= last.items()
