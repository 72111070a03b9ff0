"""Options of search on the toy, against searches that compare all sequences, or that follow the papers one by one."""

from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from support.formulas import log_softmax
from support.toy_search import END, SENTENCES, WORDS, Toy, search

from nmt.decoding.beam_search import Hypothesis
from nmt.search_options.coverage import coverage_penalty, rank
from nmt.search_options.diverse import DiverseGroups
from nmt.search_options.min_length import block_end
from nmt.search_options.ngrams import block_ngrams
from nmt.search_options.repetition import penalise_repetition

LONGEST = 5
SEEDS = range(4)
WIDE = {"beam_size": 300, "max_length": LONGEST}  # more than there are hypotheses of this length


def sequences():
    for length in range(LONGEST):
        yield from ((*words, END) for words in product(WORDS, repeat=length))
    yield from product(WORDS, repeat=LONGEST)


def best_of(toy, sentence, allowed, alpha=0.0, score=Toy.score):
    return max(filter(allowed, sequences()), key=lambda ids: score(toy, sentence, ids, alpha))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shortest", [1, 3, LONGEST])
def test_the_best_translation_that_is_not_shorter(seed, shortest):
    toy = Toy(seed, 2.0)
    found = search(toy, **WIDE, adjust=[partial(block_end, shortest, END)])
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        expected = best_of(toy, sentence, lambda ids: len(ids) - (ids[-1] == END) >= shortest)
        assert hypotheses[0].ids == expected
        assert hypotheses[0].score == pytest.approx(toy.score(sentence, expected, 0.0))


def repeats_no_ngram(n, ids):
    ngrams = [ids[i : i + n] for i in range(len(ids) - n + 1)]
    return len(ngrams) == len(set(ngrams))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_best_translation_without_an_ngram_twice(seed, n):
    toy = Toy(seed, -3.0)
    free = search(toy, **WIDE)
    found = search(toy, **WIDE, adjust=[partial(block_ngrams, n)])
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        assert hypotheses[0].ids == best_of(toy, sentence, partial(repeats_no_ngram, n))
        assert all(repeats_no_ngram(n, hypothesis.ids) for hypothesis in hypotheses)
    assert n == 3 or not all(repeats_no_ngram(n, hypotheses[0].ids) for hypotheses in free)


def test_a_hypothesis_always_has_a_token_to_go_on_with():
    adjust = [partial(block_ngrams, 1), partial(block_end, 6, END)]  # of three words, each once
    for [hypothesis] in search(Toy(0), beam_size=1, max_length=8, adjust=adjust):
        assert sorted(hypothesis.ids[:3]) == [*WORDS]
        assert len(hypothesis.ids) > 3
        assert np.isfinite(hypothesis.score)


def penalised_score(theta, toy, sentence, ids, alpha):
    """Σ_t log softmax(θ or 1 times log p)_{y_t}, divided by the length penalty."""
    total = 0.0
    for i, token in enumerate(ids):
        factors = [theta if word in ids[:i] else 1.0 for word in range(4)]
        total += log_softmax(toy.next(sentence, ids[:i]) * factors)[token]
    return total / ((5 + len(ids)) / 6) ** alpha


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_best_translation_with_a_repetition_penalty(seed, alpha):
    toy, score = Toy(seed, -1.0), partial(penalised_score, 1.7)
    found = search(toy, **WIDE, alpha=alpha, adjust=[partial(penalise_repetition, 1.7)])
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        expected = best_of(toy, sentence, lambda _: True, alpha, score)
        assert hypotheses[0].ids == expected
        assert hypotheses[0].score == pytest.approx(score(toy, sentence, expected, alpha))


def test_a_prefix_is_written_whatever_the_options_and_counts_in_them():
    toy = Toy(1, 3.0)
    prefix = torch.tensor([[0, 0], [1, -1], [-1, -1]])
    adjust = [partial(penalise_repetition, 1.5), partial(block_ngrams, 1), partial(block_end, 3, END)]
    found = search(toy, beam_size=4, n_best=4, max_length=6, prefix=prefix, adjust=adjust)
    for hypotheses, first in zip(found, prefix.tolist(), strict=True):
        first = tuple(token for token in first if token >= 0)
        for hypothesis in hypotheses:
            assert hypothesis.ids[: len(first)] == first
            assert repeats_no_ngram(1, hypothesis.ids[len(first) :])
            assert not set(first) & set(hypothesis.ids[len(first) :])
    assert found[0][0].ids[2] in (1, 2)  # two tokens are of the prefix, and one must come before the end


# Diverse groups


def diverse(toy, sentence, groups, size, strength, longest, prefix):
    """Algorithm 1 of Vijayakumar et al. (2018), one sentence, one group after the other.

    The diversity is Hamming's, and that of the whole hypotheses where they are the same so far.
    """
    total = sum(toy.next(sentence, prefix[:i])[token] for i, token in enumerate(prefix))
    beams = [[(prefix, total)] for _ in range(groups)]
    ended = [[] for _ in range(groups)]
    for t in range(longest - len(prefix)):
        others = []
        for g in range(groups):
            options = []
            for ids, total in beams[g]:
                for token, value in enumerate(toy.next(sentence, ids)):
                    same = [(*before, last) == (*ids, token) for *before, last in others if last == token]
                    loss = strength * (len(same) + t * sum(same))
                    options.append((total + value - loss, (*ids, token), total + value))
            options.sort(reverse=True)
            finished = [(ids, total) for _, ids, total in options[:size] if ids[-1] == END]
            ended[g] += finished[: size - len(ended[g])]
            beams[g] = [(ids, total) for _, ids, total in options if ids[-1] != END][:size]
            if len(ended[g]) == size:
                beams[g] = []
            others += [ids for ids, _ in beams[g]]
    ranked = sorted(((ids, total) for one in ended + beams for ids, total in one), key=lambda one: -one[1])
    return sorted(ranked[: groups * size])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("groups", "size", "strength"), [(2, 1, 0.7), (3, 1, 2.0), (2, 2, 0.4), (3, 3, 1.0)])
@pytest.mark.parametrize("prefix", [(), (1, 2, 1)])  # which the groups do not share by their choice
def test_groups_write_what_the_papers_algorithm_writes(seed, groups, size, strength, prefix):
    toy, longest = Toy(seed), 7
    choose = DiverseGroups(groups, strength, END)
    options = {"beam_size": groups * size, "n_best": groups * size, "max_length": longest, "choose": choose}
    found = search(toy, **options, prefix=torch.tensor([prefix] * len(SENTENCES)) if prefix else None)
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        expected = diverse(toy, sentence, groups, size, strength, longest, prefix)
        assert sorted(h.ids for h in hypotheses) == [ids for ids, _ in expected]
        for hypothesis in hypotheses:
            assert hypothesis.score == pytest.approx(toy.score(sentence, hypothesis.ids, 0.0), abs=1e-9)


def test_a_strong_diversity_begins_with_different_words():
    options = {"beam_size": 3, "n_best": 3, "max_length": 6, "adjust": [partial(block_end, 1, END)]}
    for hypotheses in search(Toy(2), choose=DiverseGroups(3, 50.0, END), **options):
        assert {h.ids[0] for h in hypotheses} == {*WORDS}


# Coverage penalty


def test_the_coverage_penalty_is_that_of_the_paper():
    attention = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    expected = 0.3 * sum(np.log(min(sum(attention[t][s] for t in range(5)), 1.0)) for s in range(4))
    assert coverage_penalty(torch.tensor(attention), 0.3) == pytest.approx(expected)
    assert coverage_penalty(torch.ones(3, 2), 0.3) == 0
    assert coverage_penalty(torch.eye(3)[:2], 0.3) == pytest.approx(0.3 * np.log(0.001))  # where it gives an infinity


def test_hypotheses_with_more_coverage_come_first_and_keep_their_scores():
    bare, full = torch.tensor([[0.98, 0.01, 0.01]]), torch.tensor([[0.4, 0.3, 0.3]])
    hypotheses = [Hypothesis((4,), -1.0, bare), Hypothesis((5,), -1.5, full)]
    assert rank(0.0, hypotheses) == hypotheses
    assert rank(0.01, hypotheses) == hypotheses
    assert rank(0.2, hypotheses) == hypotheses[::-1]
