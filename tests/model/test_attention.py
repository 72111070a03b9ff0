"""Every score, scope and variant against plain NumPy: weights, contexts, and what padding may not do."""

import numpy as np
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import attention_cases as cases
from support.formulas import Memory
from support.parameters import attention_weights, numbered_segments
from support.tiny_models import ENDS

from nmt.model.attention import Alignment

SPREAD = cases.parametrised()


def assert_equal_to_the_formulas(attention, score, query, values, lengths):
    context, weights = cases.run(attention, query, values, lengths)
    t, coverage = cases.steps(*query.shape[:2]), cases.covered(attention, *query.shape[:2], values.shape[1])
    formula = attention_weights(attention, score)
    for b, length in enumerate(lengths):
        for i in range(query.shape[1]):
            seen = None if coverage is None else coverage[b, i, :length].numpy()
            vectors = Memory(values[b, :length].numpy(), numbered_segments(cases.source_of(length).tolist(), ENDS))
            expected = formula(query[b, i].numpy(), vectors, None, t[b, i].item(), seen)
            np.testing.assert_allclose(context[b, i].detach(), expected[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(weights[b, i, :length].detach(), expected[1], rtol=0, atol=1e-12)
            assert ((weights[b, i, :length] == 0).numpy() == (expected[1] == 0)).all()
            assert (weights[b, i, length:] == 0).all()


@cases.parametrised(window=[1, 2, 50], count=[1, cases.T])
def test_weights_and_context_are_those_of_the_formulas(case, window, count):
    assert_equal_to_the_formulas(
        cases.make(case, window),
        case[0],
        cases.queries(case, count=count),
        cases.draw(cases.B, cases.S, cases.M),
        cases.LENGTHS,
    )


@settings(max_examples=250, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 25), min_size=1, max_size=4),
    padding=st.integers(0, 3),
    case=st.sampled_from(cases.CASES),
    window=st.integers(1, 12),
    count=st.integers(1, 6),
    position=st.sampled_from(["diagonal", "middle"]),
)
@example(lengths=[1], padding=0, case=("additive", "local_p", cases.TOGETHER), window=1, count=3, position="middle")
@example(lengths=[1, 1], padding=2, case=("location", "local_m", ()), window=4, count=3, position="middle")
@example(lengths=[9, 2], padding=0, case=("general", "local_p", ("heads",)), window=9, count=5, position="middle")
@example(lengths=[22, 1], padding=1, case=("dot", "local_m", ("coverage",)), window=10, count=1, position="middle")
def test_any_lengths_and_any_window_give_the_formulas(lengths, padding, case, window, count, position):
    values = cases.draw(len(lengths), max(lengths) + padding, cases.M)
    query = cases.queries(case, batch=len(lengths), count=count)
    attention = cases.make(case, window)
    attention.scope.initial_position = position
    assert_equal_to_the_formulas(attention, case[0], query, values, lengths)


def test_additive_is_concat_with_its_matrix_split_in_two():
    additive, concat = (cases.make((score, "global", ())) for score in ("additive", "concat"))
    concat.load_state_dict(additive.state_dict())
    query, values = cases.queries(("additive", "global", ())), cases.draw(cases.B, cases.S, cases.M)
    for one, other in zip(cases.run(additive, query, values), cases.run(concat, query, values), strict=True):
        assert torch.equal(one, other)


@SPREAD
def test_large_scores_do_not_overflow(case):
    attention = cases.make(case)
    context, weights = cases.run(attention, 1e4 * cases.queries(case), 1e4 * cases.draw(cases.B, cases.S, cases.M))
    assert context.isfinite().all()
    assert weights.isfinite().all()


def test_an_alignment_knows_its_place():
    weights, positions = torch.tensor([[0.25, 0.5], [1.0, 0.0]]), torch.tensor([[3, 1], [0, 2]])
    dense = torch.tensor([[0.0, 0.5, 0.0, 0.25], [1.0, 0.0, 0.0, 0.0]])
    alignment = Alignment(weights, positions)
    assert torch.equal(alignment.dense(4), dense)
    assert torch.equal(alignment.added_to(dense), 2 * dense)
    assert torch.equal(Alignment(dense, None).dense(4), dense)
    stacked = Alignment.stack([alignment, Alignment(weights.flip(0), positions.flip(0))])
    assert torch.equal(stacked.dense(4), torch.stack([dense, dense.flip(0)], dim=1))
