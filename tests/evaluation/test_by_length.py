"""BLEU by the length of the source: buckets, and intervals against a bootstrap in plain Python."""

import random
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from support.evaluations import HYPOTHESES, REFERENCES

from nmt.evaluation import scores
from nmt.evaluation.by_length import Bucket, bleu_by_length, bootstrap_interval, resampled_sums, source_lengths


def test_lengths_are_spacy_tokens_of_the_raw_source_and_buckets_have_these_ends():
    assert source_lengths(["Ein Mann, z. B. Otto, schläft.", "", "  Zwei   Hunde\n"], "de") == [9, 0, 2]
    lengths = [0, 1, 10, 11, 20, 21, 50, 51, 900]
    texts = ["a b c d"] * 9
    result = bleu_by_length(texts, texts, lengths, [10, 20, 30, 40, 50], samples=1)
    assert [bucket.count for bucket in result] == [3, 2, 1, 0, 1, 2]
    assert [bucket.count for bucket in bleu_by_length(texts, texts, lengths, [], samples=1)] == [9]


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


def test_interval_agrees_with_a_bootstrap_written_out():
    statistics = scores.bleu_statistics(HYPOTHESES, REFERENCES)
    draw, count = random.Random(5), len(HYPOTHESES)
    samples = [draw.choices(range(count), k=count) for _ in range(400)]
    drawn = sorted(scores.bleu_from_statistics(statistics[sample].sum(axis=0)) for sample in samples)
    low, high = bootstrap_interval(statistics, 2000, seed=7)
    assert 1 < high - low < 20
    assert (low, high) == pytest.approx((drawn[10], drawn[-11]), abs=0.15 * (high - low))


def test_the_interval_holds_95_of_100_resamples_and_depends_on_their_seed():
    statistics = scores.bleu_statistics(HYPOTHESES, REFERENCES)
    totals = [scores.bleu_from_statistics(total) for total in resampled_sums(statistics, 200, 3)]
    (bucket,) = bleu_by_length(HYPOTHESES, REFERENCES, [4] * len(HYPOTHESES), [], samples=200, seed=3)
    assert (bucket.ci_low, bucket.ci_high) == pytest.approx(tuple(np.percentile(totals, [2.5, 97.5])))
    assert bootstrap_interval(statistics, 200, seed=3) == (bucket.ci_low, bucket.ci_high)
    assert bootstrap_interval(statistics, 200, seed=4) != (bucket.ci_low, bucket.ci_high)
    (bucket,) = bleu_by_length(HYPOTHESES[:1], REFERENCES[:1], [4], [])
    assert bucket.ci_low == bucket.bleu == bucket.ci_high
