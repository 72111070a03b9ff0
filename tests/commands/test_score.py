"""`nmt score`: a line for each pair."""

import math
from pathlib import Path

import pytest

from nmt.cli import main
from nmt.system.errors import UserError
from nmt.translator import Translator

SOURCES = ["der Hund läuft", "", "eine Katze schläft im Garten", "der Hund läuft"]
TARGETS = ["the dog runs", "a cat", "", "a cat sleeps in the garden"]


def test_a_line_for_each_pair_and_the_perplexity_of_all(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for side, lines in (("source", SOURCES), ("target", TARGETS)):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files += [f"--{side}", str(tmp_path / side)]
    expected = Translator.load(best).score(SOURCES, TARGETS)
    tokens = [score.tokens for score in expected]
    perplexity = math.exp(-sum(score.log_probability for score in expected) / sum(tokens))
    capsys.readouterr()
    for more, divisors in (([], [1] * 4), (["--per-token"], tokens), (["--batch-size", "1"], [1] * 4)):
        assert main(["score", best, *files, *more]) == 0
        printed = capsys.readouterr()
        values = [score.log_probability / divisor for score, divisor in zip(expected, divisors, strict=True)]
        assert [float(line) for line in printed.out.splitlines()] == pytest.approx(values, abs=1e-5)
        assert printed.err == f"4 pairs, {sum(tokens)} tokens, perplexity {perplexity:.4g}\n"
    assert expected[0].log_probability > expected[3].log_probability  # which is no translation of it
    with pytest.raises(UserError, match="score: lists of 4 and 3 sentences: give one target for each source"):
        Translator.load(best).score(SOURCES, TARGETS[:3])
