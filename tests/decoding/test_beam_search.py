"""Search, on a toy, against all sequences there are and a beam written in plain Python."""

import math
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch
from support.all_pairs import all_pairs
from support.toy_search import END, SENTENCES, START, WORDS, Toy, search

from nmt.decoding.beam_search import beam_search, length_penalty, select

ALPHAS = pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])


def all_sequences(max_length):
    """Those that end by then, and those that are cut off there."""
    ended = [(*words, END) for length in range(max_length) for words in product(WORDS, repeat=length)]
    return ended + list(product(WORDS, repeat=max_length))


def ranked(toy, sentence, sequences, alpha):
    return sorted(((toy.score(sentence, ids, alpha), ids) for ids in sequences), reverse=True)


def assert_same(found, expected):
    """Hypotheses and (score, ids) pairs alike, in their order."""
    assert [h.ids for h in found] == [ids for _, ids in expected]
    assert [h.score for h in found] == pytest.approx([score for score, _ in expected], rel=0, abs=1e-9)


def beam_by_hand(toy, sentence, beam_size, alpha, max_length):
    """One sentence, lists, and no tensors: ended hypotheses leave the beam, which is filled up with the next best."""
    open_, ended = [(0.0, ())], []
    for _ in range(max_length):
        grown = [
            (score + toy.next(sentence, ids)[token], (*ids, token)) for score, ids in open_ for token in (*WORDS, END)
        ]
        grown.sort(reverse=True)
        ended += [ids for _, ids in grown[:beam_size] if ids[-1] == END]
        open_ = [(score, ids) for score, ids in grown if ids[-1] != END][:beam_size]
        if len(ended) >= beam_size:
            return ranked(toy, sentence, ended, alpha)
    return ranked(toy, sentence, ended + [ids for _, ids in open_], alpha)


@pytest.mark.parametrize(("seed", "alpha", "max_length"), all_pairs(range(4), [0.0, 0.6, 1.0], [1, 2, 4]))
def test_a_wide_beam_finds_what_exhaustive_search_finds(seed, alpha, max_length):
    toy = Toy(seed)
    sequences = all_sequences(max_length)
    found = search(toy, beam_size=len(sequences) + 1, n_best=len(sequences), alpha=alpha, max_length=max_length)
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        assert_same(hypotheses, ranked(toy, sentence, sequences, alpha))


@ALPHAS
@pytest.mark.parametrize("beam_size", [1, 2, 3, 5, 9])
@pytest.mark.parametrize(("seed", "end_bonus"), [(0, 0.0), (1, 1.5), (2, -1.5), (3, -4.0)])
def test_every_beam_finds_what_a_plain_one_finds(seed, end_bonus, beam_size, alpha):
    toy = Toy(seed, end_bonus)
    sentences = range(0, 300, 10)
    found = search(toy, tuple(sentences), beam_size=beam_size, n_best=beam_size, alpha=alpha, max_length=7)
    for sentence, hypotheses in zip(sentences, found, strict=True):
        assert_same(hypotheses, beam_by_hand(toy, sentence, beam_size, alpha, 7)[:beam_size])


@ALPHAS
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy_search(seed, alpha):
    toy = Toy(seed)
    for sentence, (hypothesis,) in zip(SENTENCES, search(toy, beam_size=1, alpha=alpha, max_length=9), strict=True):
        ids = []
        while len(ids) < 9 and END not in ids:
            ids.append(int(np.argmax(toy.next(sentence, ids))))
        assert hypothesis.ids == tuple(ids)
        assert hypothesis.score == pytest.approx(toy.score(sentence, ids, alpha), abs=1e-9)


@ALPHAS
def test_the_batch_changes_no_result(alpha):
    toy, sentences = Toy(6), tuple(range(0, 200, 11))
    options = {"beam_size": 4, "n_best": 4, "alpha": alpha, "max_length": 9}
    together = search(toy, sentences, **options)
    assert search(toy, sentences[::-1], **options)[::-1] == together
    assert [search(toy, (sentence,), **options)[0] for sentence in sentences] == together
    assert len({len(h[0].ids) for h in together}) > 2  # sentences end at different times


def test_an_end_does_not_stay_with_its_place_in_the_beam():
    """The best hypothesis of the first step ends; the others, moved into its place, go on."""
    table = {
        (): [math.log(0.3), math.log(0.2), -math.inf, math.log(0.5)],
        (0,): [-math.inf, math.log(0.9), -math.inf, math.log(0.1)],
        (1,): [math.log(0.5), -math.inf, math.log(0.5), -math.inf],
        (0, 1): [-math.inf, -math.inf, -math.inf, 0.0],
    }

    def step(tokens, state, _):
        histories = [tuple(int(i) for i in row if i >= 0) for row in torch.cat([state[0], tokens.unsqueeze(1)], 1)]
        rows = [table.get(history[1:], [-math.log(4)] * 4) for history in histories]
        return torch.tensor(rows, dtype=torch.float64), (torch.cat([state[0], tokens.unsqueeze(1)], dim=1),)

    empty = torch.full((1, 1), -1)
    options = {"bos": START, "eos": END, "beam_size": 2, "alpha": 0.0, "max_length": 5, "n_best": 2}
    [(_, found)] = beam_search(step, (empty,), (empty,), **options)
    assert_same(found, [(math.log(0.5), (END,)), (math.log(0.27), (0, 1, END))])


def test_the_length_penalty_is_that_of_the_paper():
    for length, alpha in product((1, 2, 7, 30), (0.0, 0.2, 0.6, 1.0)):
        assert length_penalty(length, alpha) == pytest.approx((5 + length) ** alpha / 6**alpha, rel=1e-14)
    assert length_penalty(1, 0.7) == 1
    assert length_penalty(7, 1.0) == 2


def test_select_takes_rows_of_every_tensor():
    class Pair(NamedTuple):
        values: torch.Tensor
        inner: tuple[torch.Tensor | None, ...]

    selected = select(Pair(torch.arange(4), (torch.arange(8).view(4, 2), None)), torch.tensor([2, 0, 2]))
    assert isinstance(selected, Pair)
    assert selected.values.tolist() == [2, 0, 2]
    assert selected.inner[0].tolist() == [[4, 5], [0, 1], [4, 5]]
    assert selected.inner[1] is None


def test_a_sentence_is_yielded_and_leaves_the_batch_as_soon_as_its_search_has_ended():
    """Not only when those of the other sentences have."""
    toy, numbers = Toy(3, 1.0), torch.tensor(SENTENCES).unsqueeze(1)
    options = {"beam_size": 2, "max_length": 30}
    found = beam_search(toy, (torch.zeros_like(numbers),), (numbers,), bos=START, eos=END, alpha=0.0, **options)
    steps = {}
    for place, hypotheses in found:
        steps[SENTENCES[place]] = len(toy.rows_seen)
        assert hypotheses == search(Toy(3, 1.0), [SENTENCES[place]], **options)[0]
    assert steps == {sentence: sum(sentence in seen for seen in toy.rows_seen) for sentence in SENTENCES}
    assert len(set(steps.values())) > 1
