"""Omitted and added words: by hand, and as the bundled model sees made-up ones."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.cli import error_of

from nmt.align.missing import checked, contrast, count_missing, fitted, flagged_tokens, without
from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.config.run import Config
from nmt.decoding.translation import Translation
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

SOURCE = "Ein Mann und eine Frau gehen mit einem schwarzen Hund am Strand entlang."
TARGET = "A man and a woman walk along the beach with a black dog."
SHORT = "A man and a woman walk with a black dog."
LONG = "A man and a woman walk along the purple beach with a black dog."


@pytest.fixture(scope="module")
def bundled() -> Translator:
    return Translator.load(device="cpu")


def translation(source: str, text: str, translator: Translator) -> Translation:
    tokens = [translator.source.tokenize(source), translator.target.tokenize(text)]
    source_tokens, target_tokens = ([*side, "<eos>"] for side in tokens)
    return Translation(text, target_tokens, source_tokens, 0.0, None, source=source)


@pytest.mark.parametrize(
    ("text", "position", "rest"),
    [
        ("Ein Hund läuft, dann schläft er.", 1, "Ein läuft, dann schläft er."),
        ("Ein Hund läuft, dann schläft er.", 2, "Ein Hund, dann schläft er."),
        ("Ein Hund läuft, dann schläft er.", 5, "Ein Hund läuft, dann schläft."),
        ("Ein Hund läuft.", 0, "Hund läuft."),
        ("A dog runs.", 0, "Dog runs."),
        ("a dog runs .", 0, "dog runs ."),
        ("Heute, morgen", 0, "Morgen"),
    ],
)
def test_a_text_without_a_word(text: str, position: int, rest: str) -> None:
    assert without(text.split(), position) == rest


def test_evidence_is_the_gain_of_the_forced_score(make_translator: Callable[..., tuple[Config, Translator]]) -> None:
    translator = make_translator("model.attention.wiring=none")[1]
    source, target = "Ba de Fi", "kip . lom"

    def score(source: str, target: str) -> float:
        return translator.score([source], [target])[0].log_probability

    whole = score(source, target)
    omissions = [score(rest, target) - whole for rest in ("De Fi", "Ba Fi", "Ba de")]
    additions = [score(source, ". lom") - whole, -np.inf, score(source, "kip .") - whole]
    first, one_word, empty = contrast(translator, [source, "Ba", ""], [target, "kip", ""])
    np.testing.assert_allclose(first.omission, omissions, atol=1e-4)
    np.testing.assert_allclose(first.addition, additions, atol=1e-4)
    assert [list(side) for side in one_word] == [[-np.inf], [-np.inf]]  # nothing would remain
    assert [len(side) for side in empty] == [0, 0]


def test_made_up_omissions_and_additions_are_named(bundled: Translator) -> None:
    whole, short, long = checked(bundled, [translation(SOURCE, text, bundled) for text in (TARGET, SHORT, LONG)])
    assert whole.missing == ((), ())
    assert not any(key in " ".join(whole.doubts) for key in ("missing", "added"))
    assert {"Strand"} <= set(short.omitted_words) <= {"am", "Strand", "entlang."}
    assert long.added_words == ["purple"]
    assert {"position": 11, "word": "Strand"} in short.checks["missing_words"]
    assert f"words missing: {', '.join(short.omitted_words)}" in short.doubts
    assert count_missing(bundled, [SOURCE] * 2, [TARGET, SHORT]) == [(0, 0), (len(short.omitted_words), 0)]
    omitted, added = flagged_tokens(bundled, translation(SOURCE, SHORT, bundled))
    tokens = bundled.source.tokenize(SOURCE)
    assert "▁strand" in "".join(tokens[t] for t in omitted)
    all_words = replace(bundled, word_thresholds=[-1e9, -1e9])  # "entlang." among them, and no full stop
    assert all(
        any(map(str.isalnum, tokens[t])) for t in flagged_tokens(all_words, translation(SOURCE, SHORT, bundled))[0]
    )
    assert added == []


def test_positions_count_through_all_sentences_of_a_text(bundled: Translator) -> None:
    sentences = [translation(SOURCE, text, bundled) for text in (TARGET, SHORT)]
    [one] = checked(bundled, [Translation.joined(sentences, [" "])])
    words = SOURCE.split()
    [_, alone] = checked(bundled, sentences)
    assert one.missing.omitted == tuple(len(words) + position for position in alone.missing.omitted)
    assert one.sentences[1] == replace(alone, attention=None)
    assert one.omitted_words == alone.omitted_words


def test_thresholds_are_those_of_the_checkpoint(
    best: str, tmp_path: Path, make_translator: Callable[..., tuple[Config, Translator]]
) -> None:
    """Those that `nmt train` fits leave 5 % of the words of its validation text above them, or fewer above 0."""
    translator, draw = make_translator()[1], np.random.default_rng(1)
    sides = (list(draw.choice(words, (80, 5))) for words in (["Ba", "de", "Fi", "."], ["kip", "lom", "."]))
    text = ParallelText(*([" ".join(words) for words in side] for side in sides))
    limits = fitted(translator, text)
    assert max(limits) > 0
    for side, limit in zip(zip(*contrast(translator, text.source, text.target), strict=True), limits, strict=True):
        evidence = np.concatenate(side)
        share = (evidence[evidence > -np.inf] > limit).mean()
        assert share == pytest.approx(0.05, abs=0.005) if limit > 0 else share <= 0.05
    path, pair = tmp_path / "model.safetensors", (["der Hund läuft"], ["the dog runs"])
    for limits, counts in (([-1e9, 1e9], (3, 0)), ([1e9, -1e9], (0, 3))):
        checkpoint.set_thresholds(best, path, -9.0, 3.0, word_thresholds=limits)
        assert count_missing(Translator.load(path), *pair) == [counts]


def test_the_command_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--device", "cpu", "--prefix", "A purple man"]
    assert main(["translate", SOURCE, "--json", "--check-words", *words]) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert {"position": 1, "word": "purple"} in answer["added_words"]
    assert "words added: purple" in printed.err
    assert main(["translate", SOURCE, "--json"]) == 0
    assert "added_words" not in json.loads(capsys.readouterr().out)
    assert main(["translate", SOURCE, "--check-words", "--markup"]) == 2
    assert "--check-words reads plain text" in error_of(capsys)
