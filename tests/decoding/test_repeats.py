"""Search writes nothing three times in a row, but for numbers, what a prefix says, and what is turned off."""

from functools import partial

import numpy as np
import pytest
import torch
from support.toy_search import END, START, WORDS, Toy, in_order, search

from nmt.decoding.beam_search import LONGEST_LOOP, beam_search, block_repeats

SENTENCES = tuple(range(0, 300, 10))
WORDS_0_AND_1 = torch.tensor([True, True, False, False])  # 2 may repeat, as a number may
OPTIONS = {"max_length": 24, "adjust": [partial(block_repeats, WORDS_0_AND_1)]}


def is_third(ids: tuple[int, ...]) -> bool:
    """Whether the last id ends three equal sequences in a row, by comparing all of them."""
    thirds = (ids[-3 * n :] for n in range(1, LONGEST_LOOP + 1) if len(ids) >= 3 * n)
    return ids[-1] in (0, 1) and any(x[: len(x) // 3] * 3 == x for x in thirds)


@pytest.mark.parametrize("seed", range(3))
def test_no_hypothesis_has_three_equal_sequences_in_a_row(seed: int) -> None:
    toy = Toy(seed, -6.0)
    toy.table[:, 0] += 2  # which likes to repeat
    free = search(toy, SENTENCES, beam_size=3, n_best=3, max_length=24)
    found = search(toy, SENTENCES, beam_size=3, n_best=3, **OPTIONS)
    loops = [[any(is_third(h.ids[:end]) for end in range(1, len(h.ids) + 1)) for h in one] for one in free]
    assert any(map(any, loops))
    for hypotheses in found:
        assert not any(is_third(h.ids[:end]) for h in hypotheses for end in range(1, len(h.ids) + 1))
        assert len({h.ids for h in hypotheses}) == 3
    assert any(h.ids[i : i + 3] == (2, 2, 2) for one in found for h in one for i in range(22))
    assert [search(toy, (sentence,), beam_size=3, n_best=3, **OPTIONS)[0] for sentence in SENTENCES] == found


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_of_one_takes_the_best_word_that_is_no_third(seed: int) -> None:
    toy = Toy(seed, -6.0)
    for sentence, (hypothesis,) in zip(SENTENCES, search(toy, SENTENCES, beam_size=1, **OPTIONS), strict=True):
        ids: tuple[int, ...] = ()
        while len(ids) < 24 and END not in ids:
            ranked = np.argsort(-toy.next(sentence, ids))
            ids = next((*ids, int(token)) for token in ranked if not is_third((*ids, int(token))))
        assert hypothesis.ids == ids
        assert hypothesis.score == pytest.approx(toy.score(sentence, ids, 0.0), abs=1e-9)


def test_a_prefix_may_repeat() -> None:
    toy, numbers = Toy(0, -6.0), torch.tensor(SENTENCES).unsqueeze(1)
    prefix = torch.full((len(SENTENCES), 6), -1)
    prefix[::2] = 0  # of every second sentence
    options = {"bos": START, "eos": END, "beam_size": 2, "alpha": 0.0, "prefix": prefix, **OPTIONS}
    found = in_order(beam_search(toy, (torch.zeros_like(numbers),), (numbers,), **options))
    free = search(toy, SENTENCES, beam_size=2, **OPTIONS)
    for number, [hypothesis] in enumerate(found):
        if number % 2:
            assert hypothesis == free[number][0]
        else:
            assert hypothesis.ids[:6] == 6 * (0,)
            assert hypothesis.ids[6] in WORDS[1:]
