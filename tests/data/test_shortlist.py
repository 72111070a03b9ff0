"""The lexical shortlist against counts made by hand, in dictionaries."""

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch

from nmt.data import ibm1
from nmt.data import shortlist as lexical
from nmt.data.ibm1 import side_of, translations
from nmt.data.shortlist import Shortlist, joined, learn, tokens_of
from nmt.text.vocabulary import PAD, SPECIALS, Vocabulary

PAIRS = [([4, 5], [7, 8]), ([4], [7]), ([6, 5, 4], [9, 8, 7, 7]), ([], [5]), ([6], [])]
SOURCE, TARGET = side_of([s for s, _ in PAIRS], 8), side_of([t for _, t in PAIRS], 11)


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
    found = translations(SOURCE, TARGET, iterations)
    pairs = zip(found.source.tolist(), found.target.tolist(), strict=True)
    assert dict(zip(pairs, found.probability, strict=True)) == pytest.approx(by_hand(iterations))
    assert (np.diff(found.source) >= 0).all()


def test_of_a_long_text_some_pairs_are_read_and_all_types(monkeypatch):
    monkeypatch.setattr(ibm1, "MEETINGS", 50)
    text = [([4, 5, 6], [4, 5, 6])] * 40 + [([7], [7])] + [([4], [4])] * 3
    source, target = (side_of([pair[side] for pair in text], 8) for side in (0, 1))
    kept = ibm1._enough(source, target)
    assert 3 <= len(kept[0].lengths) == len(kept[1].lengths) < 20
    assert set(kept[0].ids.tolist()) == {4, 5, 6, 7}
    assert set(translations(source, target).source.tolist()) == {4, 5, 6, 7}


def test_it_reads_pairs_at_equal_distances_and_those_in_which_a_type_comes_first(monkeypatch):
    monkeypatch.setattr(ibm1, "MEETINGS", 50)
    long, short = ([4, 5, 6], [4, 5, 6]), ([5], [5])
    text = [long] * 23 + [([7], [7])] + [long] * 16 + [short] * 4
    kept = ibm1._enough(*(side_of([pair[side] for pair in text], 8) for side in (0, 1)))
    pairs = (0, 10, 20, 23, 30, 40)
    assert kept[0].lengths.tolist() == kept[1].lengths.tolist() == [len(text[number][0]) for number in pairs]


WORDS = Vocabulary((*SPECIALS, *"abcd")), Vocabulary((*SPECIALS, *"zyxdwbv"))


def learnt(monkeypatch, likeliest, frequent):
    for name, value in (("LIKELIEST", likeliest), ("FREQUENT", frequent), ("SMALL", 10)):
        monkeypatch.setattr(lexical, name, value)
    return learn(SOURCE, TARGET, WORDS)


def test_the_likeliest_the_namesake_and_the_frequent_are_selected(monkeypatch):
    shortlist = learnt(monkeypatch, 2, 2)
    p = by_hand(ibm1.ITERATIONS)
    for s in range(8):
        ranked = sorted((t for other, t in p if other == s), key=lambda t: -p[s, t])
        namesake = {5: {9}, 7: {7}}.get(s, set())  # b and d
        assert set(shortlist.likeliest[s].tolist()) - {PAD} == {*ranked[:2], *namesake}
    assert set(shortlist.frequent.tolist()) == {7, 8}
    assert {ids.dtype for ids in shortlist} == {torch.int16}
    assert learn(SOURCE, TARGET._replace(types=lexical.SMALL), WORDS) is None


def test_unlikely_types_are_not_selected(monkeypatch):
    monkeypatch.setattr(lexical, "LEAST_PROBABILITY", 0.3)
    shortlist, p = learnt(monkeypatch, 4, 1), by_hand(ibm1.ITERATIONS)
    for s in (4, 5, 6):
        likely = {t for other, t in p if other == s and p[s, t] >= 0.3}
        assert set(shortlist.likeliest[s].tolist()) - {PAD} == likely | ({9} if s == 5 else set())  # b, its namesake


def test_a_shortlist_is_that_of_the_sentence_alone(monkeypatch):
    shortlist = learnt(monkeypatch, 2, 1)
    sources = [[4, 5, 3], [6, 3], [7, 0, 3], [3]]
    padded = torch.tensor([row + [PAD] * (3 - len(row)) for row in sources])
    for row, source in zip(tokens_of(shortlist, padded).tolist(), sources, strict=True):
        expected = {0, 1, 2, 3, *shortlist.frequent.tolist()}.union(*shortlist.likeliest[source].tolist())
        assert set(row) == expected == set(tokens_of(shortlist, torch.tensor([source])).flatten().tolist())


def test_several_models_select_what_any_of_them_does():
    one = Shortlist(torch.tensor([[4, 5], [6, PAD]]), torch.tensor([7]))
    other = Shortlist(torch.tensor([[8], [6]]), torch.tensor([7, 9]))
    both = joined([one, other])
    assert [set(row) for row in tokens_of(both, torch.tensor([[0], [1]])).tolist()] == [
        {0, 1, 2, 3, 7, 9, 4, 5, 8},
        {0, 1, 2, 3, 7, 9, 6},
    ]
    assert both.likeliest.tolist() == [[8, 5, 4], [6, PAD, PAD]]
    assert both.frequent.tolist() == [7, 9]
    assert all(map(torch.equal, joined([both, other, one]), both))
    assert joined([one, Shortlist(*(ids.clone() for ids in one))]) is one
    assert joined([one, None]) is joined([None]) is None
