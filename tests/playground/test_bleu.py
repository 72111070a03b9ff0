"""The page's BLEU is sacreBLEU's."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
import sacrebleu

MODULE = Path(__file__).parents[2] / "nmt" / "playground" / "static" / "engine" / "bleu.js"
WORDS = ["a", "dog", "runs", "across", "the", "green", "meadow", "."]


def corpus(seed: int, most: int, noise: float) -> tuple[list[list[str]], list[list[str]]]:
    """Hypotheses and references of up to `most` words; hypotheses are references with words replaced or lost."""
    draw = random.Random(seed)
    references = [draw.choices(WORDS, k=draw.randint(1, most)) for _ in range(12)]
    kept = [[word if draw.random() > noise else draw.choice(WORDS) for word in words] for words in references]
    return [words[: len(words) - (draw.random() < noise)] for words in kept], references


CASES = [
    corpus(seed, most, noise) for seed, (most, noise) in enumerate([(9, 0.0), (9, 0.2), (4, 0.6), (3, 0.9), (2, 0)])
]


def test_it_is_that_of_sacrebleu() -> None:
    script = f"import {{ bleu }} from {json.dumps(MODULE.as_uri())}; console.log(JSON.stringify("
    script += f"{json.dumps([*CASES, ([[]], [['a']]), ([['b']], [['a']])])}.map((one) => bleu(...one))))"
    command = ["node", "--input-type=module", "-e", script]
    *scores, empty, wrong = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (empty, wrong) == (0, 0)
    for (hypotheses, references), score in zip(CASES, scores, strict=True):
        lines = [[" ".join(words) for words in side] for side in (hypotheses, references)]
        expected = sacrebleu.corpus_bleu(lines[0], [lines[1]], tokenize="none", force=True).score
        assert score == pytest.approx(expected, abs=1e-9)
    assert max(scores) == pytest.approx(100)
