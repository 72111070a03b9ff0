"""Every score, scope and variant against plain NumPy: weights, contexts, and what padding may not do."""

import numpy as np
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.attention_cases import (
    CASES,
    LENGTHS,
    TOGETHER,
    B,
    M,
    S,
    T,
    covered,
    draw,
    encoded,
    make,
    parametrised,
    queries,
    run,
    source_of,
    steps,
)
from support.formulas import Memory
from support.tiny_models import ENDS, attention_weights, numbered_segments

from nmt.model.attention import Alignment, FixedContext

SPREAD = parametrised()


# Against the formulas


def assert_equal_to_the_formulas(attention, score, query, values, lengths):
    context, weights = run(attention, query, values, lengths)
    t, coverage = steps(*query.shape[:2]), covered(attention, *query.shape[:2], values.shape[1])
    formula = attention_weights(attention, score)
    for b, length in enumerate(lengths):
        for i in range(query.shape[1]):
            seen = None if coverage is None else coverage[b, i, :length].numpy()
            vectors = Memory(values[b, :length].numpy(), numbered_segments(source_of(length).tolist(), ENDS))
            expected = formula(query[b, i].numpy(), vectors, None, t[b, i].item(), seen)
            np.testing.assert_allclose(context[b, i].detach(), expected[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(weights[b, i, :length].detach(), expected[1], rtol=0, atol=1e-12)
            assert (weights[b, i, length:] == 0).all()


@parametrised(window=[1, 2, 50], count=[1, T])
def test_weights_and_context_are_those_of_the_formulas(case, window, count):
    assert_equal_to_the_formulas(make(case, window), case[0], queries(case, count=count), draw(B, S, M), LENGTHS)


@settings(max_examples=250, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 25), min_size=1, max_size=4),
    padding=st.integers(0, 3),
    case=st.sampled_from(CASES),
    window=st.integers(1, 12),
    count=st.integers(1, 6),
)
@example(lengths=[1], padding=0, case=("additive", "local_p", TOGETHER), window=1, count=3)
@example(lengths=[1, 1], padding=2, case=("location", "local_m", ()), window=4, count=3)
@example(lengths=[9, 2], padding=0, case=("general", "local_p", ("heads",)), window=9, count=5)  # D = S
@example(lengths=[22, 1, 25], padding=1, case=("dot", "local_m", ("coverage",)), window=10, count=1)  # gathered
def test_any_lengths_and_any_window_give_the_formulas(lengths, padding, case, window, count):
    values = draw(len(lengths), max(lengths) + padding, M)
    query = queries(case, batch=len(lengths), count=count)
    assert_equal_to_the_formulas(make(case, window), case[0], query, values, lengths)


def test_additive_is_concat_with_its_matrix_split_in_two():
    additive, concat = (make((score, "global", ())) for score in ("additive", "concat"))
    concat.load_state_dict(additive.state_dict())
    query, values = queries(("additive", "global", ())), draw(B, S, M)
    for one, other in zip(run(additive, query, values), run(concat, query, values), strict=True):
        assert torch.equal(one, other)


# Weights


@parametrised(window=[1, 3, 50])
def test_weights_sum_to_one_over_the_source_and_are_zero_at_padding(case, window):
    score, scope, extras = case
    attention = make(case, window)
    positions = attention.score.positions or S  # that have a score
    _, weights = run(attention, queries(case))
    assert weights.shape == (B, T, S)
    assert (weights >= 0).all()
    total, is_whole = weights.sum(2), scope in ("global", "hierarchical")
    if is_whole or (score != "location" and (scope == "local_m" or "hard" in extras)):
        torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-14)
    elif score != "location":  # the Gaussian takes from them, and nothing is put back
        assert ((total > 0) & (total < 1)).all()
    for b, length in enumerate(LENGTHS):
        assert (weights[b, :, length:] == 0).all()
        if is_whole and "hard" not in extras:
            assert (weights[b, :, : min(length, positions)] > 0).all()
            assert (weights[b, :, positions:] == 0).all()
        if "hard" in extras and "heads" not in extras:
            assert ((weights[b] == 0) | (weights[b] == 1)).all()


@SPREAD
def test_what_lies_in_the_padding_does_not_matter(case):
    attention, query, values = make(case), queries(case), draw(B, S, M)
    rubbish = values.clone()
    for b, length in enumerate(LENGTHS):
        rubbish[b, length:] = 1000.0
    for one, other in zip(run(attention, query, values), run(attention, query, rubbish), strict=True):
        assert torch.equal(one, other)


@SPREAD
def test_a_sentence_alone_has_the_weights_that_it_has_in_a_batch(case):
    attention, query, values = make(case), queries(case), draw(B, S, M)
    t, coverage = steps(), covered(attention)
    context, weights = run(attention, query, values)
    for b, length in enumerate(LENGTHS):
        own = None if coverage is None else coverage[b : b + 1, :, :length]
        alone_context, alone_weights = run(
            attention, query[b : b + 1], values[b : b + 1, :length], (length,), t[b : b + 1], own
        )
        torch.testing.assert_close(context[b], alone_context[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[b, :, :length], alone_weights[0], rtol=0, atol=1e-12)


@SPREAD
def test_large_scores_do_not_overflow(case):
    attention = make(case)
    context, weights = run(attention, 1e4 * queries(case), 1e4 * draw(B, S, M))
    assert context.isfinite().all()
    assert weights.isfinite().all()


# Memory


def test_an_alignment_knows_its_place():
    weights, positions = torch.tensor([[0.25, 0.5], [1.0, 0.0]]), torch.tensor([[3, 1], [0, 2]])
    dense = torch.tensor([[0.0, 0.5, 0.0, 0.25], [1.0, 0.0, 0.0, 0.0]])
    alignment = Alignment(weights, positions)
    assert torch.equal(alignment.dense(4), dense)
    assert torch.equal(alignment.added_to(dense), 2 * dense)
    assert torch.equal(Alignment(dense, None).dense(4), dense)
    stacked = Alignment.stack([alignment, Alignment(weights.flip(0), positions.flip(0))])
    assert torch.equal(stacked.dense(4), torch.stack([dense, dense.flip(0)], dim=1))


def test_without_attention_every_query_gets_the_final_states():
    source = encoded(draw(B, S, M))
    fixed = FixedContext()
    context, alignment = fixed(draw(B, T, 4), fixed.prepare(source), steps())
    assert torch.equal(context, source.final.unsqueeze(1).expand(-1, T, -1))
    assert torch.equal(alignment.dense(1), torch.ones(B, T, 1, dtype=torch.float64))
