"""What an evaluation shows and leaves behind: files against their schema, a table, short names."""

import json
from dataclasses import replace

import pytest
from support.evaluations import damaged, evaluated, sentences

from nmt.evaluation import report, scores
from nmt.evaluation.alignment import AlignmentScore
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText

ALIGNMENTS = [AlignmentScore(0.1234, 0.1, 0.15, 0.9, 0.876), None, AlignmentScore(1.0, 1.0, 1.0, None, 0.0)]


@pytest.fixture(scope="session")
def three():
    """Three checkpoints' evaluations, the last bucket empty and the one before it small; one p-value means nothing."""
    sources = [*sentences(60, seed=8, shortest=3, longest=18), *sentences(5, seed=9, shortest=22, longest=28)]
    references = [*sentences(60, seed=8, shortest=4, longest=19), *sentences(5, seed=9, shortest=23, longest=29)]
    outputs = {f"runs/ä{i}/best.safetensors": damaged(references, 0.1 + 0.2 * i, seed=i) for i in range(3)}
    evaluations = evaluated(outputs, sources, references, edges=[10, 20, 30])
    evaluations = [replace(e, alignment=s) for e, s in zip(evaluations, ALIGNMENTS, strict=True)]
    first, second = scores.compare(outputs, references, samples=50)
    return evaluations, [replace(first, p_value=None), second]


def test_files_have_the_promised_fields_and_json_is_written_last(three, tmp_path):
    evaluations, comparisons = three
    folder = tmp_path / "new" / "folder"
    names = ["bleu_by_length.png", "bleu_by_length.svg", "evaluation.json"]
    assert [path.name for path in report.write(folder, evaluations, comparisons, "toy corpus")] == names
    assert sorted(path.name for path in folder.iterdir()) == names  # no temporary file is left
    text = (folder / "evaluation.json").read_text(encoding="utf-8")
    content = json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    assert list(content) == ["models", "significance"]
    flavours = ["bleu", "bleu_lowercase", "bleu_tokenized_lowercase", "chrf"]
    for model, evaluation in zip(content["models"], evaluations, strict=True):
        fields = ["checkpoint", "split", *flavours, "length_ratio", "signatures", "by_length"]
        assert list(model) == [*fields, "alignment", "attention"]
        values = [evaluation.checkpoint, "valid", *(getattr(evaluation.scores, flavour) for flavour in flavours)]
        assert list(model.values())[:7] == [*values, evaluation.scores.length_ratio]
        assert list(model["signatures"]) == flavours
        *_, small, last = model["by_length"]
        assert (small["low"], small["high"], small["count"]) == (21, 30, 5)
        assert list(last.items()) == [("low", 31), ("high", None), ("count", 0), ("bleu", None),
                                      ("ci_low", None), ("ci_high", None)]  # fmt: skip
    first, second, third = (model["alignment"] for model in content["models"])
    rates = {"error_rate": 0.1234, "ci_low": 0.1, "ci_high": 0.15, "precision": 0.9, "recall": 0.876}
    assert list(first.items()) == list(rates.items())
    assert second is third["precision"] is content["significance"][0]["p_value"] is None
    for entry, model in zip(content["significance"], content["models"][1:], strict=True):
        assert list(entry) == ["baseline", "system", "metric", "baseline_score", "system_score", "p_value", "test"]
        assert (entry["baseline"], entry["system"]) == (evaluations[0].checkpoint, model["checkpoint"])
    assert "ä0" in text  # letters, not escapes
    drawn = (folder / "bleu_by_length.svg").read_text(encoding="utf-8")
    assert all(f">{text}</text>" in drawn for text in ("ä0", "ä2", "toy corpus, valid split"))
    (tmp_path / "other" / "bleu_by_length.svg").mkdir(parents=True)  # which no file replaces
    with pytest.raises(UserError, match=r"bleu_by_length\.svg cannot be written"):
        report.write(tmp_path / "other", evaluations, comparisons, "toy")
    assert (tmp_path / "other" / "bleu_by_length.png").exists()
    assert not (tmp_path / "other" / "evaluation.json").exists()


def test_table_shows_all_scores_and_buckets(three):
    evaluations, comparisons = three
    lines = report.table(evaluations, comparisons).splitlines()
    assert lines[0].split() == ["Scores", "on", "valid", "BLEU", "BLEU", "lc", "BLEU", "tok", "lc", "chrF", "length"]
    scores = evaluations[1].scores
    shown = [f"{x:.2f}" for x in (scores.bleu, scores.bleu_lowercase, scores.bleu_tokenized_lowercase, scores.chrf)]
    assert lines[2].split() == ["ä1", *shown, f"{scores.length_ratio:.3f}"]
    assert any(scores.signatures["bleu"] in line for line in lines)
    first = evaluations[0].by_length[0]
    (row,) = [line for line in lines if line.startswith("1-10 ")]
    assert row.split()[1:4] == [str(first.count), f"{first.bleu:.1f}", f"({first.ci_low:.1f}-{first.ci_high:.1f})"]
    (small,) = [line for line in lines if line.startswith("21-30 ")]
    (empty,) = [line for line in lines if line.startswith("31+ ")]
    assert (small.split()[1], empty.split()[1:]) == ("5", ["0", "-", "-", "-"])
    assert len({len(line) for line in (row, small, empty)}) == 1  # columns are aligned
    start = next(i for i, line in enumerate(lines) if line.startswith("Alignment error rate"))
    assert lines[start].endswith("in percent")
    assert [line.split() for line in lines[start + 1 : start + 5]] == [
        ["AER", "95", "%", "interval", "precision", "recall"],
        ["ä0", "12.3", "10.0-15.0", "90.0", "87.6"],
        ["ä1", "-", "-", "-", "-"],
        ["ä2", "100.0", "100.0-100.0", "-", "0.0"],
    ]
    assert "Alignment" not in report.table([evaluations[1]])
    *_, meaningless, tested, one_sided, reason = lines
    assert meaningless.split()[-1] == "-"
    difference = comparisons[1].system_score - comparisons[1].baseline_score
    assert tested.split() == ["ä2", f"{difference:+.2f}", f"{comparisons[1].p_value:.4f}"]
    assert one_sided.startswith("p: ")
    assert "one-sided" in one_sided
    assert reason.startswith("-: no p-value")


def test_each_side_and_each_model_has_a_file_with_a_line_for_each_sentence(tmp_path):
    text = ParallelText(["ein Hund", "", "eine\u2028Katze"], ["a dog", "nothing", "a cat"])
    names = ["runs/ä one/best.safetensors", "runs/two/best.safetensors", "ensemble of 2", "source", "a b", "a_b", ".."]
    outputs = {name: [str(number), "", "x"] for number, name in enumerate(names)}
    folder = report.write_translations(tmp_path / "new", text, outputs)
    assert folder == tmp_path / "new" / "translations"
    contents = {path.name: path.read_bytes().decode() for path in folder.iterdir()}
    assert contents.pop("source.txt") == "ein Hund\n\neine\u2028Katze\n"
    assert contents.pop("reference.txt") == "a dog\nnothing\na cat\n"
    stems = ["ä_one", "two", "ensemble_of_2", "source_2", "a_b", "a_b_2", "model"]  # no file takes another's name
    assert contents == {f"{stem}.txt": f"{number}\n\nx\n" for number, stem in enumerate(stems)}


@pytest.mark.parametrize(
    ("checkpoints", "names"),
    [
        (["runs/a/best.safetensors", "runs/b/best.safetensors"], ["a", "b"]),
        (["runs/a/best.safetensors", "runs/a/last.safetensors"], ["best.safetensors", "last.safetensors"]),
        (["x/a/best.safetensors", "y/b/c/best.safetensors"], ["x/a", "y/b/c"]),
        (["/home/me/runs/a/best.safetensors"], ["a/best.safetensors"]),
        (["/runs/a.safetensors", "/runs/b.safetensors", "both"], ["a.safetensors", "b.safetensors", "both"]),
    ],
)
def test_names_are_short_and_distinct(checkpoints, names):
    assert report.display_names(checkpoints) == names
