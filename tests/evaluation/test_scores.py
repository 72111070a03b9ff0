"""Scores against sacreBLEU called directly, its statistics against plain Python, and significance."""

import math
import unicodedata

import numpy as np
import pytest
import sacrebleu
import sacrebleu.significance
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from support.evaluations import HYPOTHESES, REFERENCES, damaged

from nmt.evaluation import report, scores
from nmt.evaluation.by_length import bleu_by_length
from nmt.evaluation.report import ModelEvaluation
from nmt.system.errors import UserError


def test_scores_are_sacrebleus():
    result = scores.score(HYPOTHESES, REFERENCES, "en")
    assert result.bleu == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert result.bleu_lowercase == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True).score
    assert result.chrf == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert scores.sacrebleu_score(HYPOTHESES, REFERENCES) == result.bleu
    assert 20 < result.bleu < 70  # neither trivially right nor trivially wrong


def test_the_length_ratio_is_that_of_the_brevity_penalty():
    assert scores.score(HYPOTHESES, REFERENCES, "en").length_ratio != 1
    shorter = [reference.rsplit(" ", 2)[0] for reference in REFERENCES]
    result = scores.score(shorter, REFERENCES, "en")
    lengths = [sum(len(Tokenizer13a()(text).split()) for text in side) for side in (shorter, REFERENCES)]
    assert result.length_ratio == lengths[0] / lengths[1] < 1
    penalty = math.exp(1 - 1 / result.length_ratio)  # Papineni et al. 2002, section 2.3
    assert sacrebleu.corpus_bleu(shorter, [REFERENCES]).bp == pytest.approx(penalty)
    assert scores.score(["A dog."], [""], "en").length_ratio == 0  # as sacreBLEU has it
    empty = scores.score(["", ""], ["A dog runs.", "A hat."], "en")
    assert (empty.bleu, empty.bleu_lowercase, empty.bleu_tokenized_lowercase, empty.chrf) == (0, 0, 0, 0)


def test_case_and_tokenisation_matter_where_they_should():
    references = ["The dog doesn't see Ann's (new) hat, e.g. in Paris."]
    result = scores.score([references[0].lower()], references, "en")
    assert result.bleu_lowercase == result.bleu_tokenized_lowercase == pytest.approx(100)
    assert result.bleu < 90
    # spaCy makes "do" + "n't" of "don't", which sacreBLEU's 13a leaves whole.
    result = scores.score(["We don't see the dog."], ["We do see the dog."], "en")
    by_hand = sacrebleu.corpus_bleu(["we do n't see the dog ."], [["we do see the dog ."]], tokenize="none", force=True)
    assert result.bleu_tokenized_lowercase == pytest.approx(by_hand.score)
    assert abs(result.bleu_tokenized_lowercase - result.bleu_lowercase) > 1


def test_signatures_tell_how_each_score_was_made():
    signatures = scores.score(HYPOTHESES, REFERENCES, "en").signatures
    assert list(signatures) == ["bleu", "bleu_lowercase", "bleu_tokenized_lowercase", "chrf"]
    version = f"version:{sacrebleu.__version__}"
    assert signatures["bleu"] == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    assert signatures["bleu_lowercase"] == f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|{version}"
    assert "case:lc" in signatures["bleu_tokenized_lowercase"]
    assert "|tok:spacy.blank(en)-" in signatures["bleu_tokenized_lowercase"]
    assert "tok:none" not in signatures["bleu_tokenized_lowercase"]
    assert signatures["chrf"] == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|{version}"


SENTENCES = {
    "zh": ["我买了两本书，你买了三支笔！", "他在城里看见很多红色的房子。"],
    "ja": ["今日彼は町でたくさんの赤いりんごを見る。"],
    "ko": ["나는오늘도시에서책을샀다."],
    "th": ["วันนี้เขาเห็นแอปเปิลสีแดงมากมายในเมือง"],
    "km": ["ខ្ញុំស្រឡាញ់ភាសាខ្មែរ"],
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_perfect_model_has_100_bleu_in_every_language(language):
    texts = SENTENCES[language]
    name = scores.bleu_tokenization(language)
    assert name == {"zh": "zh", "ja": "char", "ko": "char", "th": "char", "km": "char"}[language]  # without MeCab
    result = scores.score(texts, texts, language)
    assert result.bleu == result.bleu_lowercase == pytest.approx(100)
    assert f"|tok:{name}|" in result.signatures["bleu"]
    worse = [text[:-2] for text in texts]
    expected = sacrebleu.corpus_bleu(worse, [texts], tokenize=name).score
    assert scores.score(worse, texts, language).bleu == scores.sacrebleu_score(worse, texts, language) == expected > 50
    (bucket,) = [b for b in bleu_by_length(worse, texts, [1] * len(texts), [10], language=language) if b.count]
    assert bucket.bleu == pytest.approx(expected)
    (comparison,) = scores.compare({"a": texts, "b": worse}, texts, samples=20, target_language=language)
    assert (comparison.baseline_score, comparison.system_score) == (pytest.approx(100), pytest.approx(expected))


def test_a_package_of_words_is_used_where_it_is_installed(monkeypatch):
    monkeypatch.setattr(sacrebleu, "BLEU", lambda **_: None)  # which raises where it is not
    names = [scores.bleu_tokenization.__wrapped__(code) for code in ("ja", "ko", "de")]
    assert names == ["ja-mecab", "ko-mecab", "13a"]


def test_bleu_is_undefined_where_no_reference_has_four_words():
    texts = ["каса", "мосты и", "a b c"]
    for hypotheses in (texts, ["x y z a b"] * 3):
        result = scores.score(hypotheses, texts, "ru")
        assert result.bleu is result.bleu_lowercase is result.bleu_tokenized_lowercase is None
        assert scores.sacrebleu_score(hypotheses, texts, "ru") is None
    assert scores.score(texts, texts, "ru").chrf == scores.chrf_score(texts, texts) == 100
    longer = [*texts, "a b c d"]
    assert scores.score(longer, longer, "ru").bleu == pytest.approx(100)
    assert [bucket.bleu for bucket in bleu_by_length(longer, longer, [1, 2, 3, 4], [3])] == [None, pytest.approx(100)]
    evaluation = ModelEvaluation("m.safetensors", "test", scores.score(texts, texts, "ru"), [])
    head, line = report.table([evaluation]).splitlines()[:2]
    assert head.split()[3] == "chrF"
    assert line.split() == ["m.safetensors", "100.00", "-", "-", "-", "1.000"]
    assert scores.UNDEFINED in report.table([evaluation])


def test_the_same_text_in_another_form_is_the_same():
    texts = ["Ein müder Mann läuft über die Straße."]
    other = [unicodedata.normalize("NFD", texts[0]).replace("Mann", "Ma\xadnn")]
    assert scores.score(other, texts, "de") == scores.score(texts, other, "de") == scores.score(texts, texts, "de")
    assert scores.sacrebleu_score(other, texts) == pytest.approx(100)
    np.testing.assert_array_equal(scores.bleu_statistics(other, texts), scores.bleu_statistics(texts, texts))


def test_unequal_numbers_of_sentences_and_none_are_refused():
    for hypotheses, references in ((["a"], ["a", "b"]), ([], [])):
        count = f"{len(hypotheses)} hypotheses, {len(references)} references: .* at least one"
        with pytest.raises(UserError, match=count):
            scores.score(hypotheses, references, "en")
    for call in (
        scores.bleu_statistics,
        scores.sacrebleu_score,
        lambda *texts: scores.compare({"x": texts[1], "y": texts[0]}, texts[1]),
    ):
        with pytest.raises(ValueError, match=r"shorter|longer"):
            call(["a"], ["a", "b"])


@pytest.mark.parametrize("language", ["qq", "ja"])
def test_a_language_without_rules_is_split_by_those_for_any(language):
    result = scores.score(["a b-c, d."], ["a b-c, d."], language)
    assert result.bleu_tokenized_lowercase == pytest.approx(100)
    assert "tok:spacy.blank(xx)-" in result.signatures["bleu_tokenized_lowercase"]
    assert scores.spacy_tokens(["(so) bald."], language) == [["(", "so", ")", "bald", "."]]


def test_summed_statistics_give_the_corpus_score():
    (few,) = scores.bleu_statistics(["a b c x y"], ["a b c d e"])  # smoothed
    smoothed = sacrebleu.corpus_bleu(["a b c x y"], [["a b c d e"]]).score
    assert scores.bleu_from_statistics(few) == pytest.approx(smoothed)
    for lowercase in (False, True):
        [counts] = scores.bleu_statistics(["A Dog runs ."], ["a dog runs ."], lowercase=lowercase)
        assert (scores.bleu_from_statistics(counts) == pytest.approx(100)) == lowercase
    statistics = scores.bleu_statistics(HYPOTHESES, REFERENCES)
    draw = np.random.default_rng(3)
    for _ in range(5):
        drawn = draw.integers(len(HYPOTHESES), size=40)
        direct = sacrebleu.corpus_bleu([HYPOTHESES[i] for i in drawn], [[REFERENCES[i] for i in drawn]])
        assert scores.bleu_from_statistics(statistics[drawn].sum(axis=0)) == pytest.approx(direct.score, rel=1e-12)


@pytest.fixture(autouse=True)
def _seed_unset(monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)


def test_significance_tells_better_from_equal(capfd):
    systems = {
        "base": HYPOTHESES,
        "same": list(HYPOTHESES),
        "as good": damaged(REFERENCES, 0.3, seed=2),
        "better": damaged(REFERENCES, 0.1, seed=3),
    }
    same, as_good, better = scores.compare(systems, REFERENCES)
    assert [(c.baseline, c.system) for c in (same, as_good, better)] == [("base", name) for name in list(systems)[1:]]
    assert same.p_value == 1.0
    assert as_good.p_value > 0.05
    assert better.p_value < 0.05
    for comparison in (same, as_good, better):
        assert comparison.metric == "bleu"
        assert comparison.baseline_score == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
        assert comparison.system_score == sacrebleu.corpus_bleu(systems[comparison.system], [REFERENCES]).score
        assert comparison.test == "paired bootstrap, 1000 resamples, seed 12345"
    assert scores.compare(systems, REFERENCES) == [same, as_good, better]
    assert capfd.readouterr() == ("", "")
    improved = [REFERENCES[0], *HYPOTHESES[1:]]  # one sentence more is not significant
    (comparison,) = scores.compare({"base": HYPOTHESES, "improved": improved}, REFERENCES)
    assert comparison.system_score > comparison.baseline_score
    assert comparison.p_value > 0.05


def test_without_matching_4_grams_there_is_no_p_value():
    """Two models that repeat themselves: their BLEU near 0 differs in length, and so in every resample."""
    trigrams = {"base": ["a b c x"] * 200, "other": ["a b c y z"] * 200}
    assert scores.compare(trigrams, ["a b c d"] * 200, samples=20)[0].p_value is None
    systems = {"base": ["a a a a a"] * 200, "other": ["a a a a a a"] * 200}
    (comparison,) = scores.compare(systems, REFERENCES, samples=100)
    assert 0 < comparison.baseline_score < comparison.system_score < 1
    assert comparison.p_value is None
    # As soon as a few sentences match, resamples tell something.
    for matching, tested in ((2, False), (4, True)):
        systems["other"] = [*REFERENCES[:matching], *["a a a a a a"] * (200 - matching)]
        (comparison,) = scores.compare(systems, REFERENCES, samples=100)
        assert (comparison.p_value is not None) == tested


def test_seed_comes_from_sacrebleus_variable_and_must_be_one(monkeypatch):
    assert scores.compare({"base": HYPOTHESES}, REFERENCES) == []  # nothing to compare with
    systems = {"base": HYPOTHESES[:30], "other": damaged(REFERENCES[:30], 0.25, seed=2)}
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    (seven,) = scores.compare(systems, REFERENCES[:30], samples=200)
    assert seven.test == "paired bootstrap, 200 resamples, seed 7"
    for useless in ("none", "0", "-3", "x"):
        monkeypatch.setenv("SACREBLEU_SEED", useless)
        with pytest.raises(UserError, match=f"SACREBLEU_SEED={useless}"):
            scores.compare(systems, REFERENCES[:30])
