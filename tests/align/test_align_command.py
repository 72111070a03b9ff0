"""`nmt align` as its users meet it."""

import gzip
import itertools
import json
from pathlib import Path

import pytest
from support.cli import error_of

from nmt.align import links as align_links
from nmt.align.commands import align
from nmt.cli import main
from nmt.system.bundled import models
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

GERMAN = ["Ein Hund läuft durch den Schnee.", "", "Zwei Männer sitzen auf einer Bank."]
ENGLISH = ["A dog runs through the snow.", "", "Two men are sitting on a bench."]
FORWARD, BACKWARD = (str(models()[direction]) for direction in (("de", "en"), ("en", "de")))


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    paths = [tmp_path / "text.de", tmp_path / "text.en.gz"]
    paths[0].write_text("\n".join(GERMAN), encoding="utf-8")
    paths[1].write_bytes(gzip.compress("\n".join(ENGLISH).encode()))
    return [*map(str, paths)]


def test_links_of_one_and_of_two_bundled_models(text: list[str], tmp_path: Path, capfdbinary) -> None:
    assert main(["align", FORWARD, *text]) == 0
    printed = capfdbinary.readouterr().out.decode()
    first, empty, second = printed.splitlines()
    assert first.startswith("0-0 1-1 2-2 3-3 ")
    assert empty == ""
    assert {"0-0", "1-1", "2-3"} <= set(second.split())  # sitzen = sitting
    assert main(["align", FORWARD, *text, "--reverse", BACKWARD, "--output", str(tmp_path / "links")]) == 0
    assert capfdbinary.readouterr().out == b""
    assert (tmp_path / "links").read_text() == "0-0 1-1 2-2 3-3 4-4 5-5\n\n0-0 1-1 2-3 3-4 4-5 5-6\n"
    assert main(["align", FORWARD, *text, "--json", "--reverse", BACKWARD, "--symmetrization", "union"]) == 0
    entries = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert entries[1] == {"source": [], "target": [], "alignment": [], "attention": [], "reverse_attention": []}
    assert entries[2]["source"] == GERMAN[2].split()
    assert {tuple(link) for link in entries[2]["alignment"]} > {(0, 0), (1, 1), (2, 3), (3, 4), (4, 5), (5, 6)}
    weights, opposite = entries[2]["attention"], entries[2]["reverse_attention"]
    assert (len(weights), len(weights[0]), len(opposite), len(opposite[0])) == (7, 6, 6, 7)
    assert all(sum(row) <= 1 + 1e-5 for row in itertools.chain(weights, opposite))


def test_links_by_the_text_alone(tmp_path: Path, capfdbinary) -> None:
    """Words that come in all orders have one translation each."""
    words = ["rot", "blau", "grün", "Haus"], ["red", "blue", "green", "house"]
    sides = [
        [" ".join(words[side][i] for i in order) for order in itertools.permutations(range(4), 3)] for side in (0, 1)
    ]
    for name, lines in zip("ab", sides, strict=True):
        (tmp_path / name).write_text("\n".join(["", *lines]), encoding="utf-8")
    assert main(["align", str(tmp_path / "a"), str(tmp_path / "b"), "--lexical"]) == 0
    assert capfdbinary.readouterr().out.decode().splitlines() == ["", *["0-0 1-1 2-2"] * len(sides[0])]


def test_batches_change_nothing_and_empty_sides_have_no_links(best: str) -> None:
    translator = Translator.load(best)
    text = ParallelText(["der Hund", " ", "die", "die kleine Katze"], ["the dog", "cat", "", "sleeps"])
    together = [one.links for one in align_links.attended(translator, text)]
    alone = [
        next(align_links.attended(translator, ParallelText([source], [target]))).links
        for source, target in zip(text.source, text.target, strict=True)
    ]
    assert together == alone
    assert together[1] == together[2] == frozenset()
    assert together[0]


def test_refusals(text: list[str], runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    none, short = str(runs / "none" / "best.safetensors"), tmp_path / "short"
    short.write_text("one\n", encoding="utf-8")
    for arguments, words in (
        ([text[0], text[1]], "no CHECKPOINT given: nmt align CHECKPOINT SOURCE TARGET"),
        ([FORWARD, *text, "--lexical"], "--lexical uses no CHECKPOINT"),
        ([*text, "--lexical", "--json"], "--lexical has both directions and no weights"),
        ([FORWARD, *text, "--symmetrization", "union"], "--symmetrization needs two directions"),
        ([FORWARD, *text, "--output", str(short)], "short already exists"),
        ([FORWARD, text[0], str(short)], "has 3 lines but"),
        ([none, *text], "none/best.safetensors has no attention (model.attention.wiring: none)"),
        ([FORWARD, *text, "--reverse", FORWARD], "translates de→en, not the opposite of de→en"),
    ):
        assert main(["align", *arguments]) == 2
        assert words in error_of(capsys)
    assert align.parser().prog == "nmt align"
