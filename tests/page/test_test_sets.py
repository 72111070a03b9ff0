"""Test sets in the API, beside the translator's own values and sacreBLEU's."""

import time
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from support.cli import error_of
from support.serving import asked, served

from nmt import addons
from nmt.cli import main
from nmt.config.run import Config
from nmt.decoding.word_alignment import best_links
from nmt.evaluation.alignment import score_alignment, word_pairs
from nmt.evaluation.checkpoints import TestSet as Set
from nmt.page import test_sets
from nmt.page.test_sets import load_set
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
Models = dict[str, tuple[str, Translator]]
SOURCE = ["Ba de Fi Go", "Hu ja", "Ba", "ke li Ba de Fi Go Hu", "li", "Ba Ba Fi", "de", "Go Hu", "ja ke li", "Fi"]
LANGUAGES = ("de", "en")
CASED = "data.target.lowercase=false"


@pytest.fixture
def translators(make_translator: Maker) -> Models:
    """Two models, and one of another language, which is not scored."""
    fields = {"1": ["bahdanau", CASED], "2": ["none", CASED], "3": ["bahdanau", "data.target.language=fr"]}
    return {
        n: (n, make_translator(f"model.attention.wiring={wiring}", more)[1]) for n, (wiring, more) in fields.items()
    }


@pytest.fixture
def test_set(tmp_path: Path, translators: Models) -> Set:
    """References are the first model's own translations, two of them changed."""
    references = [one.text or "kip" for one in translators["1"][1].translate(SOURCE)]
    references[0], references[3] = "Kip lom mun", references[3] + " kip"
    contents = {"set.src": SOURCE, "set.ref": references, "set.links": ["0-0 1?2", *["0-0"] * 9]}
    for name, lines in contents.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    source, reference, links = (str(tmp_path / name) for name in contents)
    return load_set(source, reference, links, LANGUAGES, "whitespace")


@pytest.fixture
def address(translators: Models, test_set: Set) -> Iterator[str]:
    with served(translators, sets={"1": test_set}) as address:
        yield address


def finished(address: str) -> Any:
    for _ in range(600):
        progress = asked(address, "/api/sets/1")
        if all(model["summary"] or model["error"] for model in progress["models"]):
            return progress
        time.sleep(0.1)
    raise AssertionError(f"not done: {progress}")


def test_each_sentence_is_scored_as_sacrebleu_does(address: str, translators: Models, test_set: Set) -> None:
    assert asked(address, "/api/sets") == [{"id": "1", "name": "set.src", "sentences": 10, "aligned": True}]
    progress = finished(address)
    assert progress["lowercase"] is False
    table = asked(address, "/api/sets/1/sentences")
    assert (table["source"], table["reference"]) == (SOURCE, test_set.text.target)
    assert table["lengths"] == [len(line.split()) for line in SOURCE]
    for model, summary in zip(table["models"], progress["models"], strict=True):
        expected = [one.text for one in translators[model["id"]][1].translate(SOURCE)]
        assert model["hypotheses"] == expected
        pairs = list(zip(expected, test_set.text.target, strict=True))
        assert model["bleu"] == pytest.approx([sacrebleu.sentence_bleu(h, [r]).score for h, r in pairs])
        assert model["chrf"] == pytest.approx([sacrebleu.sentence_chrf(h, [r]).score for h, r in pairs])
        assert summary["done"] == 10
        counts = addons.offered("missing_words").count_missing(translators[model["id"]][1], SOURCE, expected)
        assert list(zip(model["missing"], model["added"], strict=True)) == counts
        whole = summary["summary"]
        assert whole["bleu"] == pytest.approx(sacrebleu.corpus_bleu(expected, [test_set.text.target], force=True).score)
        assert whole["chrf"] == pytest.approx(sacrebleu.corpus_chrf(expected, [test_set.text.target]).score)
        buckets = [(b["low"], b["high"], b["count"]) for b in whole["by_length"]]
        assert buckets[:3] == [(1, 5, 9), (6, 10, 1), (11, 15, 0)]


def test_attention_and_its_error_rate_are_those_of_nmt_evaluate(
    address: str, translators: Models, test_set: Set
) -> None:
    gold = test_set.words
    assert gold is not None
    assert gold.links is not None
    forced = translators["1"][1].forced_attention(SOURCE, test_set.text.target)
    weights = [matrix[:-1, :-1].numpy() for matrix in forced]  # words are this model's tokens; without both ends
    links = [best_links(matrix) for matrix in weights]
    one, none = finished(address)["models"]
    assert one["summary"]["error_rate"] == pytest.approx(score_alignment(links, gold.links).error_rate)
    assert none["summary"]["error_rate"] is None  # it has no attention
    shown = asked(address, "/api/sets/1/sentences/0")
    assert (shown["source"], shown["reference"]) == (gold.source[0], gold.target[0])
    assert (shown["sure"], shown["possible"]) == ([[0, 0]], [[0, 0], [1, 2]])
    [model] = shown["models"]
    assert model["id"] == "1"
    np.testing.assert_allclose(model["weights"], weights[0], atol=1e-5)
    assert model["error_rate"] == pytest.approx(score_alignment(links[:1], gold.links[:1]).error_rate)


def test_others_are_answered_meanwhile_and_unknown_ids_are_refused(address: str, translators: Models) -> None:
    assert any(model["summary"] is None for model in asked(address, "/api/sets/1")["models"])
    [expected] = translators["1"][1].translate(["Hu ja"])
    assert asked(address, "/api/translate", {"text": "Hu ja"})["text"] == expected.text
    for path in ("2", "2/sentences", *(f"1/sentences/{line}" for line in ("10", "-1", "x", "9" * 5000))):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            asked(address, f"/api/sets/{path}")


def test_a_defect_with_one_model_keeps_nobody_waiting(
    translators: Models, test_set: Set, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate = test_sets._translate

    def fail(translator: Translator, sentences: Sequence[str]) -> list[str]:
        if translator is translators["1"][1]:
            raise RuntimeError("a defect")
        return translate(translator, sentences)

    monkeypatch.setattr(test_sets, "_translate", fail)
    short = replace(test_set, text=ParallelText(SOURCE, ["kip"] * len(SOURCE)))
    with served(translators, sets={"1": short}) as address:
        broken, whole = finished(address)["models"]
        assert broken["error"] == "failed: see the output of nmt serve"
        assert whole["summary"]["bleu"] is None  # one word has no sequence of four


def test_capitals_count_only_where_all_models_write_them(make_translator: Maker) -> None:
    lower = make_translator("data.target.lowercase=true")[1]
    [translation] = lower.translate(["Ba de"])
    text = ParallelText(["Ba de"], [translation.text.upper()])
    one = Set("x", "x", text, word_pairs(text, LANGUAGES))
    with served({"1": ("lower", lower)}, sets={"1": one}) as address:
        progress = finished(address)
        assert progress["lowercase"] is True
        assert progress["models"][0]["summary"]["chrf"] == pytest.approx(100)


def test_wrong_sets_are_one_line(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contents = {"FILE": "a\nb\n", "SHORT": "a\n", "EMPTY": "", "LONG": "a\n" * 10_001}
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    for options, error in (
        (["--alignment", "FILE"], "--alignment belongs to a --test-set"),
        (["--test-set", "FILE", "no.ref"], "no.ref"),
        (["--test-set", "FILE", "SHORT"], "lines"),
        (["--test-set", "EMPTY", "EMPTY"], "EMPTY"),
        (["--test-set", "FILE", "FILE", "--alignment", "FILE"], "FILE, line 1"),
        (["--test-set", "LONG", "LONG"], "10,001 sentences"),
    ):
        assert main(["serve", best, *(str(tmp_path / o) if o in contents else o for o in options)]) == 2
        assert error in error_of(capsys)
