"""The lexical shortlist against counts made by hand, in dictionaries."""

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from support.texts import rows_of

from nmt.data import ibm1
from nmt.data.ibm1 import learn_shortlist, translations
from nmt.data.shortlist import Shortlist, joined
from nmt.text.vocabulary import PAD, SPECIALS, Vocabulary

PAIRS = [([4, 5], [7, 8]), ([4], [7]), ([6, 5, 4], [9, 8, 7, 7]), ([], [5]), ([6], [])]
SOURCE, TARGET = map(rows_of, zip(*PAIRS, strict=True))
WORDS = Vocabulary((*SPECIALS, *"abcd")), Vocabulary((*SPECIALS, *"zyxdwbv"))


def by_hand(iterations):
    """Model 1 as in textbooks; None is the empty word."""
    met = {(s, t) for source, target in PAIRS for s in (*source, None) for t in target}
    p = dict.fromkeys(met, 1.0)
    for _ in range(iterations):
        counts = defaultdict(float)
        for source, target in PAIRS:
            for t in target:
                total = sum(p[s, t] for s in (*source, None))
                for s in (*source, None):
                    counts[s, t] += p[s, t] / total
        totals = Counter()
        for (s, _), count in counts.items():
            totals[s] += count
        p = {(s, t): count / totals[s] for (s, t), count in counts.items()}
    return {(s, t): value for (s, t), value in p.items() if s is not None}


@pytest.mark.parametrize("iterations", [1, 4])
def test_probabilities_are_those_of_model_1(iterations):
    learnt = translations(SOURCE, TARGET, iterations)
    pairs = zip(learnt.source.tolist(), learnt.target.tolist(), strict=True)
    assert dict(zip(pairs, learnt.probability, strict=True)) == pytest.approx(by_hand(iterations))
    assert (np.diff(learnt.source) >= 0).all()


def test_a_long_text_is_read_at_equal_distances_and_where_a_token_comes_first(monkeypatch):
    monkeypatch.setattr(ibm1, "MEETINGS", 50)
    long, short = [4, 5, 6], [5]
    text = rows_of([long] * 23 + [[7]] + [long] * 16 + [short] * 4)
    kept = ibm1._enough(text, text)
    expected = [text.lengths[number] for number in (0, 10, 20, 23, 30, 40)]
    assert kept[0].lengths.tolist() == kept[1].lengths.tolist() == expected
    assert set(translations(text, text).source.tolist()) == {4, 5, 6, 7}


@pytest.mark.parametrize(("likeliest", "least"), [(2, 1e-4), (4, 0.3)])
def test_the_likeliest_the_namesake_and_the_frequent_are_selected(monkeypatch, likeliest, least):
    values = {"LIKELIEST": likeliest, "FREQUENT": 2, "SMALL": 10, "LEAST_PROBABILITY": least}
    for name, value in values.items():
        monkeypatch.setattr(ibm1, name, value)
    shortlist, p = learn_shortlist(SOURCE, TARGET, WORDS), by_hand(ibm1.ITERATIONS)
    for s in range(8):
        ranked = sorted((t for other, t in p if other == s and p[s, t] >= least), key=lambda t: -p[s, t])
        namesake = {5: {9}, 7: {7}}.get(s, set())  # b and d
        assert set(shortlist.likeliest[s].tolist()) - {PAD} == {*ranked[:likeliest], *namesake}
    assert set(shortlist.frequent.tolist()) == {7, 8}
    assert {ids.dtype for ids in shortlist} == {torch.int16}
    monkeypatch.setattr(ibm1, "SMALL", 11)
    assert learn_shortlist(SOURCE, TARGET, WORDS) is None


def test_several_models_select_what_any_of_them_does():
    one = Shortlist(torch.tensor([[4, 5], [6, PAD]]), torch.tensor([7]))
    other = Shortlist(torch.tensor([[8], [6]]), torch.tensor([7, 9]))
    both = joined([one, other, Shortlist(*(ids.clone() for ids in one))])  # the same twice is of no use
    assert both.likeliest.tolist() == [[4, 5, 8], [6, PAD, 6]]
    assert both.frequent.tolist() == [7, 7, 9]
    assert joined([one, None]) is joined([None]) is None
