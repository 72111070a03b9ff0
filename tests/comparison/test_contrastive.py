"""`nmt score --contrastive`: files like those of LingEval97 and ContraPro, with made-up sentences."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cli import error_of

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.config.run import Config
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

MakeTranslator = Callable[..., tuple[Config, Translator]]
Model = tuple[str, Translator]


@pytest.fixture
def model(make_translator: MakeTranslator, tmp_path: Path) -> Model:
    config, translator = make_translator()
    path = tmp_path / "best.safetensors"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    return str(path), translator


def written(folder: Path, entries: object) -> str:
    path = folder / "set.json"
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries), encoding="utf-8")
    return str(path)


def variants(sentence: str) -> list[str]:
    """Three other sentences of the same words, more or less."""
    words = sentence.split()
    return [" ".join(words[::-1]), " ".join(words[:-1]) or "ba", " ".join([*words, words[0]])]


def rows(printed: str) -> dict[str, tuple[int, int, float]]:
    found = re.findall(r"^(\S.*?)  +(\d+)  +(\d+)  +([\d.]+)$", printed, re.MULTILINE)
    return {name: (int(right), int(total), float(accuracy)) for name, right, total, accuracy in found}


def one_by_one(translator: Translator, source: str, target: str, *, per_token: bool = False) -> float:
    [score] = translator.score([source], [target])
    return score.log_probability / (score.tokens if per_token else 1)


@pytest.mark.parametrize("per_token", [False, True])
def test_each_error_of_lingeval97_is_a_decision_of_its_category(
    model: Model, text: dict[str, ParallelText], tmp_path: Path, capsys: pytest.CaptureFixture[str], *, per_token: bool
) -> None:
    path, translator = model
    entries, expected = [], {"order": [0, 0], "deletion": [0, 0], "insertion": [0, 0]}
    near: dict[str, list[int]] = {}
    pairs = list(zip(text["train"].source, text["train"].target, strict=True))[:20]
    for number, (source, reference) in enumerate(pairs):
        errors = []
        for category, variant in zip(expected, variants(reference), strict=True):
            errors.append({"type": category, "contrastive": variant})
            scores = [one_by_one(translator, source, t, per_token=per_token) for t in (reference, variant)]
            expected[category][0] += scores[0] > scores[1]
            expected[category][1] += 1
            if category == "order":
                errors[-1]["distance"] = number if number % 2 else str(number)
                counts = near.setdefault(str(number) if number < 16 else "more than 15", [0, 0])
                counts[0] += scores[0] > scores[1]
                counts[1] += 1
        entries.append({"source": source, "reference": reference, "origin": "made up", "errors": errors})
    options = ["--per-token"] if per_token else []
    assert main(["score", path, "--contrastive", written(tmp_path, entries), *options]) == 0
    categories, distances = capsys.readouterr().out.split("\n\n")
    found = rows(categories)
    assert {name: list(found[name][:2]) for name in expected} == expected
    total = [sum(column) for column in zip(*expected.values(), strict=True)]
    assert found["total"] == (*total, pytest.approx(100 * total[0] / total[1], abs=0.05))
    assert 0 < total[0] < total[1]
    found = rows(distances)
    assert {name: list(found[name][:2]) for name in near} == near
    assert list(found)[-2:] == ["more than 15", "total"]


def test_a_reference_of_contrapro_must_beat_all_its_variants(
    model: Model, text: dict[str, ParallelText], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, translator = model
    entries, expected = [], {"it:er": [0, 0], "it:sie": [0, 0]}
    pairs = list(zip(text["train"].source, text["train"].target, strict=True))[:24]
    for number, (source, reference) in enumerate(pairs):
        errors = [{"type": "pronominal coreference", "contrastive": t, "replacement": "x"} for t in variants(reference)]
        scores = [one_by_one(translator, source, t) for t in (reference, *variants(reference))]
        pronoun = "Er" if number % 2 else "sie"
        counts = expected[f"it:{pronoun.lower()}"]
        counts[0] += scores[0] > max(scores[1:])
        counts[1] += 1
        entry = {"src segment": source, "ref segment": reference, "src pronoun": "It", "ref pronoun": pronoun}
        entries.append(entry | {"ante distance": number % 3, "intrasegmental": None, "errors": errors})
    assert main(["score", path, "--contrastive", written(tmp_path, entries)]) == 0
    categories, distances = capsys.readouterr().out.split("\n\n")
    found = rows(categories)
    assert {name: list(found[name][:2]) for name in expected} == expected
    assert [rows(distances)[str(distance)][1] for distance in range(3)] == [8, 8, 8]


def test_a_tie_is_not_right(model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two words that the model does not know are the same `<unk>`."""
    entry = {"source": "ba", "reference": "qqqq", "errors": [{"type": "spelling", "contrastive": "wwww"}]}
    assert main(["score", model[0], "--contrastive", written(tmp_path, [entry])]) == 0
    assert rows(capsys.readouterr().out)["spelling"] == (0, 1, 0.0)


GOOD = {"source": "ba", "reference": "da", "errors": [{"type": "a", "contrastive": "du"}]}
PRONOUN = GOOD | {"src pronoun": "it", "ref pronoun": "er", "ante distance": 1}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ({}, "is no list of sentences"),
        ([GOOD, 3], "entry 2: 'source' or 'src segment' is missing"),
        ([GOOD | {"reference": " "}], "entry 1: 'reference' or 'ref segment' is missing or no text"),
        ([GOOD | {"errors": 3}], "entry 1: 'errors' must be a list"),
        ([GOOD | {"errors": [{"type": "a"}]}], "entry 1, error 1: 'contrastive' is missing"),
        ([GOOD | {"errors": [{"contrastive": "du"}]}], "'type' is missing"),
        ([GOOD | {"errors": []}], "has no contrastive translation"),
        ([GOOD | {"errors": [{"type": "a", "contrastive": "du", "distance": -1}]}], "'distance' is '-1'"),
        ([PRONOUN | {"ante distance": 1.5}], "'ante distance' is '1.5'"),
        ([PRONOUN | {"src pronoun": None}], "'src pronoun' is missing"),
    ],
)
def test_bad_files_are_one_line(
    entries: object, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are refused before a model is loaded."""
    assert main(["score", "none.safetensors", "--contrastive", written(tmp_path, entries)]) == 2
    assert expected in error_of(capsys)


def test_other_texts_are_refused_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--contrastive", written(tmp_path, [GOOD]), "--source", "x"]
    assert main(["score", "none.safetensors", *options]) == 2
    assert "leave out --source and --target" in error_of(capsys)
    assert main(["score", "none.safetensors", "--source", "x"]) == 2
    assert "give --source and --target" in error_of(capsys)
