"""Scores against sacreBLEU called directly, intervals against plain Python, files against their schema."""

import csv
import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu

from nmt.errors import UserError
from nmt.evaluation import metrics, report
from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import Bucket, bleu_by_length, bootstrap_interval, buckets, source_lengths

TEXT = "a man in the red hat sits on his old bench and reads while two small dogs run past him to this park"
WORDS = TEXT.split()


def sentences(count, seed=0, shortest=5, longest=25):
    draw = random.Random(seed)
    texts = (" ".join(draw.choices(WORDS, k=draw.randint(shortest, longest))) for _ in range(count))
    return [f"{text.capitalize()}." for text in texts]


def damaged(texts, share, seed):
    """Each word replaced by a random one with probability `share`."""
    draw = random.Random(seed)
    return [" ".join(w if draw.random() > share else draw.choice(WORDS) for w in text.split()) for text in texts]


REFERENCES = sentences(200)
HYPOTHESES = damaged(REFERENCES, 0.3, seed=1)


# Scores


def test_scores_are_sacrebleus():
    result = metrics.score(HYPOTHESES, REFERENCES, "en")
    assert result.bleu == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert result.bleu_lowercase == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True).score
    assert result.chrf == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert metrics.sacrebleu_score(HYPOTHESES, REFERENCES) == result.bleu
    assert 20 < result.bleu < 70  # neither trivially right nor trivially wrong


def test_case_and_tokenisation_matter_where_they_should():
    references = ["The dog doesn't see Ann's (new) hat, e.g. in Paris."]
    result = metrics.score([references[0].lower()], references, "en")
    assert result.bleu_lowercase == result.bleu_tokenized_lowercase == pytest.approx(100)
    assert result.bleu < 90
    # spaCy makes "do" + "n't" of "don't", which sacreBLEU's 13a leaves whole.
    result = metrics.score(["We don't see the dog."], ["We do see the dog."], "en")
    by_hand = sacrebleu.corpus_bleu(["we do n't see the dog ."], [["we do see the dog ."]], tokenize="none", force=True)
    assert result.bleu_tokenized_lowercase == pytest.approx(by_hand.score)
    assert abs(result.bleu_tokenized_lowercase - result.bleu_lowercase) > 1


def test_signatures_tell_how_each_score_was_made():
    signatures = metrics.score(HYPOTHESES, REFERENCES, "en").signatures
    assert list(signatures) == ["bleu", "bleu_lowercase", "bleu_tokenized_lowercase", "chrf"]
    version = f"version:{sacrebleu.__version__}"
    assert signatures["bleu"] == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    assert signatures["bleu_lowercase"] == f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|{version}"
    assert "case:lc" in signatures["bleu_tokenized_lowercase"]
    assert "|tok:spacy.blank(en)-" in signatures["bleu_tokenized_lowercase"]
    assert "tok:none" not in signatures["bleu_tokenized_lowercase"]
    assert signatures["chrf"] == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|{version}"


def test_empty_translations_score_zero():
    result = metrics.score(["", ""], ["A dog.", "A hat."], "en")
    assert (result.bleu, result.bleu_lowercase, result.bleu_tokenized_lowercase, result.chrf) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.score(["a"], ["a", "b"], "en"),
        lambda: metrics.sacrebleu_score(["a"], ["a", "b"]),
        lambda: metrics.compare({"x": ["a", "b"], "y": ["a"]}, ["a", "b"]),
        lambda: bleu_by_length(["a"], ["a", "b"], [1, 1]),
        lambda: bleu_by_length(["a", "b"], ["a", "b"], [1]),
        lambda: evaluated({"x": ["a"]}, ["q", "r"], ["a", "b"]),
        lambda: evaluated({"x": ["a"]}, ["q", "r"], ["a"]),
    ],
)
def test_unequal_numbers_of_sentences_are_refused(call):
    with pytest.raises(UserError, match=r"1 .* but 2 |2 .* but 1 ") as error:
        call()
    assert "\n" not in str(error.value)


def test_no_sentences_and_unknown_languages_are_refused():
    with pytest.raises(UserError, match="at least one"):
        metrics.sacrebleu_score([], [])
    with pytest.raises(UserError, match="'qq'"):
        metrics.score(["a"], ["a"], "qq")


# Sufficient statistics


def statistics_by_hand(hypothesis, reference):
    """Papineni et al. (2002), for text without punctuation: lengths, clipped matches, n-grams."""
    sides = hypothesis.split(), reference.split()
    matched, total = [], []
    for n in range(1, 5):
        mine, theirs = (Counter(zip(*(side[i:] for i in range(n)), strict=False)) for side in sides)
        matched.append((mine & theirs).total())
        total.append(mine.total())
    return [len(sides[0]), len(sides[1]), *matched, *total]


def test_statistics_are_those_counted_by_hand():
    pairs = [("the the the the the", "the cat the mat"), ("a b c d e", "x a b c d y"), ("", "a b"), ("one", "one")]
    got = metrics.bleu_statistics([h for h, _ in pairs], [r for _, r in pairs])
    np.testing.assert_array_equal(got, [statistics_by_hand(h, r) for h, r in pairs])


def test_summed_statistics_give_the_corpus_score():
    statistics = metrics.bleu_statistics(HYPOTHESES, REFERENCES)
    draw = np.random.default_rng(3)
    for _ in range(5):
        drawn = draw.integers(len(HYPOTHESES), size=40)
        direct = sacrebleu.corpus_bleu([HYPOTHESES[i] for i in drawn], [[REFERENCES[i] for i in drawn]])
        assert metrics.bleu_from_statistics(statistics[drawn].sum(axis=0)) == pytest.approx(direct.score, rel=1e-12)


# By length


def test_lengths_are_spacy_tokens_of_the_raw_source():
    assert source_lengths(["Ein Mann, z. B. Otto, schläft.", "", "  Zwei   Hunde\n"], "de") == [9, 0, 2]


def test_bucket_boundaries():
    lengths = [0, 1, 10, 11, 20, 21, 50, 51, 900]
    got = [positions.tolist() for positions in buckets(lengths, [10, 20, 30, 40, 50])]
    assert got == [[0, 1, 2], [3, 4], [5], [], [6], [7, 8]]
    assert [positions.tolist() for positions in buckets(lengths, [])] == [list(range(9))]


def test_every_bucket_has_its_own_corpus_score():
    lengths = source_lengths(REFERENCES, "en")
    result = bleu_by_length(HYPOTHESES, REFERENCES, lengths, [8, 16, 40])
    assert [(b.low, b.high) for b in result] == [(1, 8), (9, 16), (17, 40), (41, None)]
    assert sum(b.count for b in result) == len(HYPOTHESES)
    for bucket in result[:-1]:
        inside = [i for i, length in enumerate(lengths) if bucket.low <= length <= bucket.high]
        direct = sacrebleu.corpus_bleu([HYPOTHESES[i] for i in inside], [[REFERENCES[i] for i in inside]])
        assert bucket.count == len(inside) >= 20
        assert bucket.bleu == pytest.approx(direct.score, rel=1e-12)
        assert bucket.ci_low < bucket.bleu < bucket.ci_high
    assert result[-1] == Bucket(41, None, 0, None, None, None)
    assert [b.label for b in result] == ["1-8", "9-16", "17-40", "41+"]
    assert replace(result[0], high=1).label == "1"


def test_few_sentences_are_marked():
    assert [Bucket(1, 2, count, None, None, None).is_small for count in (0, 19, 20)] == [True, True, False]


def test_interval_agrees_with_a_bootstrap_written_out():
    statistics = metrics.bleu_statistics(HYPOTHESES, REFERENCES)
    draw = random.Random(5)
    scores = []
    for _ in range(400):
        drawn = draw.choices(range(len(HYPOTHESES)), k=len(HYPOTHESES))
        scores.append(
            sacrebleu.corpus_bleu([HYPOTHESES[i] for i in drawn], [[REFERENCES[i] for i in drawn]]).score
            if len(scores) < 3  # sacreBLEU itself is slow: a few to tie the next line to it
            else metrics.bleu_from_statistics(statistics[drawn].sum(axis=0))
        )
    low, high = bootstrap_interval(statistics, 2000, seed=7)
    width = high - low
    assert 1 < width < 20
    assert low == pytest.approx(sorted(scores)[10], abs=0.15 * width)
    assert high == pytest.approx(sorted(scores)[-11], abs=0.15 * width)


def test_interval_shrinks_with_the_square_root_of_the_number_of_sentences():
    statistics = metrics.bleu_statistics(HYPOTHESES, REFERENCES)
    low, high = bootstrap_interval(statistics, 1000, seed=1)
    # The same sentences nine times: the same score, a third of the uncertainty.
    low9, high9 = bootstrap_interval(np.tile(statistics, (9, 1)), 1000, seed=1)
    assert (high - low) / (high9 - low9) == pytest.approx(3, rel=0.15)


def test_interval_is_seeded_and_of_one_sentence_is_a_point():
    statistics = metrics.bleu_statistics(HYPOTHESES, REFERENCES)
    assert bootstrap_interval(statistics, 100, seed=1) == bootstrap_interval(statistics, 100, seed=1)
    assert bootstrap_interval(statistics, 100, seed=1) != bootstrap_interval(statistics, 100, seed=2)
    (bucket,) = bleu_by_length(HYPOTHESES[:1], REFERENCES[:1], [4], [])
    assert bucket.ci_low == bucket.bleu == bucket.ci_high


@pytest.mark.parametrize(
    ("edges", "named"), [([10, 10], "10, 10"), ([20, 10], "20, 10"), ([0, 5], "0, 5"), ([-1], "-1")]
)
def test_bad_edges_are_refused(edges, named):
    with pytest.raises(UserError, match=f"bucket edges {named}: .*as in") as error:
        buckets([1, 2], edges)
    assert "\n" not in str(error.value)


# Significance


@pytest.fixture
def _seed_unset(monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)


@pytest.mark.usefixtures("_seed_unset")
def test_significance_tells_better_from_equal(capfd):
    systems = {
        "base": HYPOTHESES,
        "same": list(HYPOTHESES),
        "as good": damaged(REFERENCES, 0.3, seed=2),
        "better": damaged(REFERENCES, 0.1, seed=3),
    }
    same, as_good, better = metrics.compare(systems, REFERENCES)
    assert [c.system for c in (same, as_good, better)] == ["same", "as good", "better"]
    assert {c.baseline for c in (same, as_good, better)} == {"base"}
    assert same.p_value == 1.0
    assert as_good.p_value > 0.05
    assert better.p_value < 0.05
    for comparison in (same, as_good, better):
        assert comparison.metric == "bleu"
        assert comparison.baseline_score == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
        assert comparison.system_score == sacrebleu.corpus_bleu(systems[comparison.system], [REFERENCES]).score
        assert comparison.test == "paired bootstrap, 1000 resamples, seed 12345"
    assert metrics.compare(systems, REFERENCES) == [same, as_good, better]
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("_seed_unset")
def test_one_sentence_more_is_not_significant():
    improved = [REFERENCES[0], *HYPOTHESES[1:]]
    assert improved != HYPOTHESES
    (comparison,) = metrics.compare({"base": HYPOTHESES, "improved": improved}, REFERENCES)
    assert comparison.system_score > comparison.baseline_score
    assert comparison.p_value > 0.05


def test_one_system_has_nothing_to_be_compared_with():
    assert metrics.compare({"base": HYPOTHESES}, REFERENCES) == []


def test_seed_comes_from_sacrebleus_variable_and_must_be_one(monkeypatch):
    systems = {"base": HYPOTHESES[:30], "other": damaged(REFERENCES[:30], 0.25, seed=2)}
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    (seven,) = metrics.compare(systems, REFERENCES[:30], samples=200)
    assert seven.test == "paired bootstrap, 200 resamples, seed 7"
    for useless in ("none", "0", "-3", "x"):
        monkeypatch.setenv("SACREBLEU_SEED", useless)
        with pytest.raises(UserError, match=f"SACREBLEU_SEED={useless}"):
            metrics.compare(systems, REFERENCES[:30])


# Report


def evaluated(outputs, sources, references, **options):
    return report.evaluate_outputs(
        outputs, sources, references, split="valid", source_language="de", target_language="en", **options
    )


@pytest.fixture(scope="module")
def three():
    """Three checkpoints' evaluations, the last bucket empty and the one before it small."""
    sources = [*sentences(60, seed=8, shortest=3, longest=18), *sentences(5, seed=9, shortest=22, longest=28)]
    references = [*sentences(60, seed=8, shortest=4, longest=19), *sentences(5, seed=9, shortest=23, longest=29)]
    outputs = {f"runs/ä{i}/best.pt": damaged(references, 0.1 + 0.2 * i, seed=i) for i in range(3)}
    evaluations = evaluated(outputs, sources, references, edges=[10, 20, 30], samples=50)
    return evaluations, metrics.compare(outputs, references, samples=50)


def test_json_has_exactly_the_promised_fields(three, tmp_path):
    evaluations, comparisons = three
    report.write(tmp_path / "new" / "folder", evaluations, comparisons, "synthetic toy corpus")

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    text = (tmp_path / "new" / "folder" / "evaluation.json").read_text(encoding="utf-8")
    content = json.loads(text, parse_constant=refuse)
    assert list(content) == ["models", "significance"]
    flavours = ["bleu", "bleu_lowercase", "bleu_tokenized_lowercase", "chrf"]
    for model, evaluation in zip(content["models"], evaluations, strict=True):
        assert list(model) == ["checkpoint", "split", *flavours, "signatures", "by_length", "alignment"]
        assert model["alignment"] is None
        assert (model["checkpoint"], model["split"]) == (evaluation.checkpoint, "valid")
        assert [model[flavour] for flavour in flavours] == [getattr(evaluation.scores, f) for f in flavours]
        assert list(model["signatures"]) == flavours
        for bucket in model["by_length"]:
            assert list(bucket) == ["low", "high", "count", "bleu", "ci_low", "ci_high"]
        *_, small, last = model["by_length"]
        assert (small["low"], small["high"], small["count"]) == (21, 30, 5)
        assert last == {"low": 31, "high": None, "count": 0, "bleu": None, "ci_low": None, "ci_high": None}
    for entry in content["significance"]:
        assert list(entry) == ["baseline", "system", "metric", "baseline_score", "system_score", "p_value", "test"]
        assert entry["baseline"] == content["models"][0]["checkpoint"]
    assert [e["system"] for e in content["significance"]] == [m["checkpoint"] for m in content["models"][1:]]
    assert "ä0" in text  # letters, not escapes


def test_csv_has_a_row_for_every_model_and_bucket(three, tmp_path):
    evaluations, comparisons = three
    report.write(tmp_path, evaluations, comparisons, "synthetic toy corpus")
    with (tmp_path / "bleu_by_length.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["model", "low", "high", "count", "bleu", "ci_low", "ci_high"]
    assert len(rows) == 12
    first = evaluations[0].by_length[0]
    assert rows[0][:4] == ["runs/ä0/best.pt", "1", "10", str(first.count)]
    assert [float(cell) for cell in rows[0][4:]] == [first.bleu, first.ci_low, first.ci_high]
    assert rows[3] == ["runs/ä0/best.pt", "31", "", "0", "", "", ""]


def test_files_are_replaced_whole_and_nothing_else_is_left(three, tmp_path, monkeypatch):
    evaluations, comparisons = three
    names = ["bleu_by_length.csv", "bleu_by_length.png", "bleu_by_length.svg", "evaluation.json"]
    assert sorted(path.name for path in report.write(tmp_path, evaluations, comparisons, "toy")) == names
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    before = (tmp_path / "evaluation.json").read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(UserError, match=r"evaluation\.json cannot be written \(No space left"):
        report.write(tmp_path, evaluations[:1], [], "toy")
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert (tmp_path / "evaluation.json").read_bytes() == before


def test_folder_that_is_a_file_is_a_user_error(three, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="taken"):
        report.write(tmp_path / "taken", *three, "toy")


def test_table_shows_all_scores_and_marks_small_buckets(three):
    evaluations, comparisons = three
    lines = report.table(evaluations, comparisons).splitlines()
    assert lines[0].split() == ["Scores", "on", "valid", "BLEU", "BLEU", "lc", "BLEU", "tok", "lc", "chrF"]
    scores = evaluations[1].scores
    shown = [f"{x:.2f}" for x in (scores.bleu, scores.bleu_lowercase, scores.bleu_tokenized_lowercase, scores.chrf)]
    assert lines[2].split() == ["ä1", *shown]
    assert any(scores.signatures["bleu"] in line for line in lines)
    first = evaluations[0].by_length[0]
    (row,) = [line for line in lines if line.startswith(("1-10 ", "1-10*"))]
    assert row.split()[1:4] == [str(first.count), f"{first.bleu:.1f}", f"({first.ci_low:.1f}-{first.ci_high:.1f})"]
    (small,) = [line for line in lines if line.startswith("21-30*")]
    assert small.split()[1] == "5"
    (empty,) = [line for line in lines if line.startswith("31+*")]
    assert empty.split()[1:] == ["0", "-", "-", "-"]
    assert any(line.startswith("* fewer than 20 sentences") for line in lines)
    assert lines[-1].split() == ["ä2", f"{comparisons[1].system_score - comparisons[1].baseline_score:+.2f}",
                                 f"{comparisons[1].p_value:.4f}"]  # fmt: skip
    assert len({len(line) for line in (row, small, empty)}) == 1  # columns are aligned


def test_alignment_is_shown_in_percent_and_written_as_fractions(three, tmp_path):
    scores = [AlignmentScore(0.1234, 0.1, 0.15, 0.9, 0.876), None, AlignmentScore(1.0, 1.0, 1.0, None, 0.0)]
    evaluations = [replace(e, alignment=s) for e, s in zip(three[0], scores, strict=True)]
    lines = report.table(evaluations, alignment=True).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Alignment error rate"))
    assert lines[start].endswith("in percent")
    assert lines[start + 1].split() == ["AER", "95", "%", "interval", "precision", "recall"]
    assert lines[start + 2].split() == ["ä0", "12.3", "10.0-15.0", "90.0", "87.6"]
    assert lines[start + 3].split() == ["ä1", "-", "-", "-", "-"]
    assert lines[start + 4].split() == ["ä2", "100.0", "100.0-100.0", "-", "0.0"]
    assert "Alignment" not in report.table(three[0])
    report.write(tmp_path, evaluations, [], "toy")
    first, second, third = json.loads((tmp_path / "evaluation.json").read_text(encoding="utf-8"))["models"]
    fields = {"error_rate": 0.1234, "ci_low": 0.1, "ci_high": 0.15, "precision": 0.9, "recall": 0.876}
    assert list(first["alignment"].items()) == list(fields.items())
    assert second["alignment"] is None
    assert third["alignment"]["precision"] is None


@pytest.mark.parametrize("count", [1, 4, 6])
def test_table_fits_in_100_columns_at_its_widest(three, count):
    full = [Bucket(1 + 100 * i, 100 + 100 * i if i < 5 else None, 12345, 100.0, 100.0, 100.0) for i in range(6)]
    scores = replace(three[0][0].scores, bleu=100.0, bleu_lowercase=100.0, bleu_tokenized_lowercase=100.0, chrf=100.0)
    evaluations = [
        report.ModelEvaluation(f"runs/{'long-name-' * 12}{i}/best.pt", "test_2016_flickr", scores, full)
        for i in range(count)
    ]
    comparisons = [
        metrics.Comparison(evaluations[0].checkpoint, e.checkpoint, "bleu", 0.0, 100.0, 0.001, three[1][0].test)
        for e in evaluations[1:]
    ]
    evaluations = [replace(e, alignment=AlignmentScore(1.0, 1.0, 1.0, 1.0, 1.0)) for e in evaluations]
    text = report.table(evaluations, comparisons, alignment=True)
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("501+") == -(-count // 4)  # four models abreast


@pytest.mark.parametrize(
    ("checkpoints", "names"),
    [
        (["runs/a/best.pt", "runs/b/best.pt"], ["a", "b"]),
        (["runs/a/best.pt", "runs/a/last.pt"], ["best.pt", "last.pt"]),
        (["a.pt", "runs/a.pt"], ["a.pt", "runs/a.pt"]),
        (["x/a/best.pt", "y/b/c/best.pt"], ["x/a", "y/b/c"]),
        (["/home/me/runs/a/best.pt"], ["a/best.pt"]),
        (["best.pt"], ["best.pt"]),
        (["/runs/a/best.pt", "other/best.pt"], ["/runs/a", "other"]),
        (["/runs/a.pt", "/runs/b.pt", "ensemble of 2"], ["a.pt", "b.pt", "ensemble of 2"]),
        (["ensemble of 2"], ["ensemble of 2"]),
    ],
)
def test_names_are_short_and_distinct(checkpoints, names):
    assert report.display_names(checkpoints) == names


def test_importing_the_package_loads_neither_spacy_nor_matplotlib_nor_torch():
    program = (
        "import sys; import nmt.evaluation.report, nmt.evaluation.metrics, nmt.evaluation.by_length, "
        "nmt.evaluation.plots, nmt.evaluation.alignment; "
        "print([m for m in ('spacy', 'matplotlib', 'torch') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
