"""IBM model 1 against counts made by hand, in dictionaries."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from support.texts import rows_of

from nmt.augment import ibm1
from nmt.augment.ibm1 import translations

PAIRS = [([4, 5], [7, 8]), ([4], [7]), ([6, 5, 4], [9, 8, 7, 7]), ([], [5]), ([6], [])]
SOURCE, TARGET = map(rows_of, zip(*PAIRS, strict=True))


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
