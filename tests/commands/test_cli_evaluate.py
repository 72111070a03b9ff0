"""`nmt evaluate` and `nmt score` as their users meet them."""

import itertools
import json
import math
from pathlib import Path

import pytest
from support.cli import SOURCES, all_named, error_of

from nmt import addons
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main
from nmt.commands import evaluate
from nmt.config.reading import load_config
from nmt.evaluation.checkpoints import check_comparable
from nmt.system.errors import UserError
from nmt.translator import Translator


def test_every_option_runs_alone_and_with_all_others(
    runs: Path, best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(runs.parent / f"text.{language}") for language in ("de", "en")]
    none = str(runs / "none" / "best.safetensors")
    sets = [["--split", "validation"], ["--source", files[0], "--reference", files[1]]]
    models = [[best, none], ["--ensemble", best, none]]
    shared = [
        ["--output", "NEW"],
        ["--beam", "1"],
        ["--length-penalty", "0.5"],
        ["--gold", str(runs.parent / "text.align")],
        ["--alignment", str(runs.parent / "text.align"), "--alignment-words", "whitespace"],
        ["--device", "cpu", "--threads", "1"],
        ["--precision", "bf16"],
    ]
    if addons.offered("search_flags") is not None:
        shared.append(["--min-length", "1", "--block-ngrams", "3", "--repetition-penalty", "1.1"])
        shared.append(["--coverage-penalty", "0", "--diverse-groups", "1", "--diversity-strength", "0.5"])
    plain = ["--plain", "--precision", "float32"]  # not together with bf16
    assert all_named([*sets, *models, *shared, plain, ["--data-folder"]], evaluate.parser())  # the last one below
    pairs = [[*test_set, *systems, *itertools.chain(*shared)] for test_set, systems in itertools.product(sets, models)]
    alone = [[best, *options] for options in (*sets, *shared, plain)]
    for n, arguments in enumerate(alone + pairs):  # they hold every pair of options that do not exclude each other
        assert main(["evaluate", *(f"{tmp_path}/{n}" if word == "NEW" else word for word in arguments)]) == 0, arguments
        [head] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Scores")]
        scored_on = "" if "--source" in arguments else "on validation" if "--split" in arguments else "on test"
        assert head.split("BLEU")[0].split() == ["Scores", *scored_on.split()]
    for arguments, words in (
        ([best, "--gold", "gold.align"], "gold.align does not exist"),
        ([best, "--alignment", files[0]], f"{files[0]}, line 1: 'der' is not a link"),
        ([best, "--alignment-words", "spacy"], "--alignment-words needs --gold"),
        ([best, "--output", str(tmp_path / "2")], f"{tmp_path / '2'} already holds an evaluation"),
    ):
        assert main(["evaluate", *arguments]) == 2
        assert words in error_of(capsys)  # one line: "Translating …" was not said yet


def test_scores_are_printed_though_no_file_can_be_written_and_what_is_refused_leaves_no_folder(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bleu_by_length.png").mkdir()
    assert main(["evaluate", best, "--output", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "Scores on test" in printed.out
    assert printed.err.splitlines()[-1].startswith(f"error: {tmp_path / 'bleu_by_length.png'} cannot be written")
    missing = ["--source", "missing", "--reference", "x"]
    for arguments in (["missing.safetensors"], [best, "--alignment", "missing"], [best, *missing]):
        assert main(["evaluate", *arguments, "--output", str(tmp_path / "new" / "folder")]) == 2
        assert not (tmp_path / "new").exists(), arguments


def test_a_checkpoint_does_not_decide_where_a_corpus_is_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, best: str
) -> None:
    contents = checkpoint_file.read(best)
    contents["config"]["data"] |= {"corpus": "multi30k", "folder": str(tmp_path / "elsewhere")}
    for side in ("source", "target"):
        contents["config"]["data"][side] |= {"train": None, "validation": None, "test": None}
    path = tmp_path / "sent.safetensors"
    checkpoint_file.write(path, contents)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmt.data.multi30k.fetch", lambda *a: pytest.fail(f"{a[2]} was used"))
    with pytest.raises(pytest.fail.Exception, match=r"^data/multi30k was used"):
        main(["evaluate", str(path)])
    with pytest.raises(pytest.fail.Exception, match=r"^here/multi30k was used"):
        main(["evaluate", str(path), "--data-folder", "here"])


def test_models_of_another_text_or_language_are_not_compared(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = load_config(Path(best).with_name("config.yaml"))
    files = first.data.source.model_copy(update={"validation": "other"})
    second = first.model_copy(update={"data": first.data.model_copy(update={"source": files})})
    check_comparable({"A": first, "B": second}, "test")
    with pytest.raises(UserError, match=r"A and B differ in data\.source\.validation .*other"):
        check_comparable({"A": first, "B": second}, "validation")
    other, text = tmp_path / "other.safetensors", tmp_path / "text"
    contents = checkpoint_file.read(best)
    contents["config"]["data"]["source"]["language"] = "fr"
    checkpoint_file.write(other, contents)
    text.write_text("Ba\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["evaluate", best, str(other), "--source", str(text), "--reference", str(text)]) == 2
    assert f"{other} differ in data.source.language (de, fr)" in error_of(capsys)


def test_models_are_compared_and_several_are_an_ensemble(
    runs: Path, best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = str(runs / "none" / "best.safetensors")
    for more, names in (([none], [best, none]), (["--ensemble", best, none], [best, "ensemble of 2"])):
        output = tmp_path / str(len(more))
        assert main(["evaluate", best, *more, "--output", str(output)]) == 0
        evaluation = json.loads((output / "evaluation.json").read_text(encoding="utf-8"))
        assert [model["checkpoint"] for model in evaluation["models"]] == names
        (comparison,) = evaluation["significance"]
        assert [comparison["baseline"], comparison["system"]] == names
        assert comparison["p_value"] is None or 0 <= comparison["p_value"] <= 1
    assert "ensemble of 2" in capsys.readouterr().out
    drawn = (tmp_path / "1" / "bleu_by_length.svg").read_text(encoding="utf-8")
    assert ">bahdanau</" in drawn
    assert ">none</" in drawn
    expected = [t.text for t in Translator.load(best, none).translate(SOURCES)]
    assert main(["translate", best, none, *SOURCES]) == 0
    assert capsys.readouterr().out.splitlines() == expected


def test_a_line_for_each_pair_and_the_perplexity_of_all(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = ["der Hund läuft", "", "eine Katze schläft im Garten", "der Hund läuft"]
    targets = ["the dog runs", "a cat", "", "a cat sleeps in the garden"]
    files = []
    for side, lines in (("source", sources), ("target", targets)):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files += [f"--{side}", str(tmp_path / side)]
    expected = Translator.load(best).score(sources, targets)
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
        Translator.load(best).score(sources, targets[:3])
