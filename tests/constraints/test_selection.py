"""Search under constraints: against all sequences there are, and whether constraints are met whatever they are."""

from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from support.toy_search import END, SENTENCES, WORDS, Toy, search

from nmt.constraints import selection
from nmt.constraints.progress import Rules, State
from nmt.constraints.selection import Selection
from nmt.decoding.beam_search import best_candidates, block_repeats


def is_met(ids, constraints):
    """Whether each constraint has an occurrence of its own in the ids."""
    if not constraints:
        return True
    return any(
        is_met((*ids[:begin], None, *ids[begin + len(form) :]), constraints[1:])
        for form in constraints[0]
        for begin in range(len(ids) - len(form) + 1)
        if ids[begin : begin + len(form)] == form
    )


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize(
    "constraints",
    [[((0, 1),), ((2,),)], [((0, 1), (1, 2, 2))], [((2,),), ((2,),)], [((0, 0, 1),)], [((1, 0, 2), (0, 1))]],
)
def test_of_all_sequences_those_that_meet_the_constraints_are_ranked(constraints, alpha, monkeypatch):
    """With a beam as wide as the tree."""
    monkeypatch.setattr(selection, "PER_HYPOTHESIS", 4)
    ended = [(*words, END) for length in range(5) for words in product(WORDS, repeat=length)]
    sequences = [ids for ids in ended + list(product(WORDS, repeat=5)) if is_met(ids, constraints)]
    for seed in range(3):
        toy = Toy(seed)
        choose = Selection([constraints], eos=END, max_length=5)
        (hypotheses,) = search(toy, SENTENCES[:1], beam_size=500, max_length=5, alpha=alpha, n_best=20, choose=choose)
        expected = sorted(((toy.score(SENTENCES[0], ids, alpha), ids) for ids in sequences), reverse=True)[:20]
        assert [hypothesis.ids for hypothesis in hypotheses] == [ids for _, ids in expected]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([score for score, _ in expected])


def test_constraints_are_always_met_and_other_sentences_stay_as_they_are():
    """With any beam, in as few steps as can be, behind a prefix, and where repetitions are blocked."""
    generator = np.random.default_rng(7)
    for seed in range(150):
        sentences = tuple(generator.integers(0, 900, 4).tolist())
        constraints = [
            [
                tuple(tuple(generator.integers(0, 3, generator.integers(1, 4)).tolist()) for _ in range(forms))
                for forms in generator.integers(1, 3, count)
            ]
            for count in (0, *generator.integers(1, 4, 2), 0)
        ]
        need = max(sum(min(map(len, forms)) for forms in of_sentence) for of_sentence in constraints)
        prefix = torch.tensor(generator.integers(0, 3, (4, seed % 3)))
        options = {
            "max_length": prefix.shape[1] + need + int(generator.integers(0, 6)),
            "beam_size": int(generator.integers(1, 6)),
            "prefix": prefix if prefix.numel() else None,
            "adjust": [partial(block_repeats, torch.ones(4, dtype=torch.bool))] if seed % 2 else [],
        }
        toy = Toy(seed, end_bonus=2.0)
        choose = Selection(constraints, eos=END, max_length=options["max_length"])
        plain, constrained = (search(toy, sentences, **options, choose=c) for c in (best_candidates, choose))
        assert (plain[0], plain[3]) == (constrained[0], constrained[3])
        for of_sentence, hypotheses in zip(constraints, constrained, strict=True):
            assert is_met(hypotheses[0].ids, of_sentence), (seed, of_sentence, hypotheses)
            assert np.isfinite(hypotheses[0].score)


def test_reserved_ids_are_written_for_constraints_alone_and_in_their_order():
    for seed in range(20):
        options = {"eos": END, "max_length": 6, "reserved": [1, 2], "ordered": [(), (), (1, 2)]}
        choose = Selection([[], [((1,),)], [((2,),), ((1,),), ((2,),)]], **options)
        none, once, ordered = search(Toy(seed), choose=choose)
        written = [[token for token in best.ids if token in (1, 2)] for best, *_ in (none, once, ordered)]
        assert written == [[], [1], [2, 1, 2]]


def test_words_that_go_on_and_other_capitals_do_not_count():
    bike, s, mark, comma = 0, 1, 2, 3
    first = State.first([((bike,),)], Rules(inside={s}, marks={mark}))
    for ids, count in (
        ((bike, s), 1),
        ((bike, comma), 0),
        ((mark, bike), 1),
        ((bike, mark, comma), 0),
        ((bike, mark, s), 1),
    ):
        state = first
        for token in ids:
            state = state.after(token)
        assert len(state.open) == count, ids
    state = State.first([((bike,), (bike, s))], Rules(inside={s}))
    assert not state.after(bike).after(s).open


def test_a_term_ends_even_where_all_likely_ids_go_on_with_its_word(monkeypatch):
    monkeypatch.setattr(selection, "PER_HYPOTHESIS", 2)
    for seed in range(40):
        choose = Selection([[((0, 1),)]], eos=END, max_length=9, inside={1, 2})
        toy = Toy(seed)
        toy.table[:, [1, 2]] += 6  # nats: mostly both are likelier than all that end the word
        ((best, *_),) = search(toy, SENTENCES[:1], beam_size=1 + seed % 3, max_length=9, choose=choose)
        ids = (*best.ids, END)
        assert any(ids[n : n + 2] == (0, 1) and ids[n + 2] not in (1, 2) for n in range(len(best.ids) - 1)), best
