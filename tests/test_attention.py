"""Scores and scopes against plain NumPy, their gradients against finite differences, and what padding may not do."""

import numpy as np
import pytest
import torch
from reference import (
    SCOPES,
    SCORES,
    attention_weights,
    concat_score,
    local_p_weights,
    predicted_position,
    randomise,
    softmax,
)
from torch import nn

from nmt.model.attention import FixedContext, make_attention
from nmt.model.encoder import Encoded

LENGTHS = (4, 7, 1)
B, T, S, M, A = 3, 5, 7, 6, 8
EVERY = pytest.mark.parametrize(("score", "scope"), [(score, scope) for score in SCORES for scope in SCOPES])


def query_size(score):
    return M if score == "dot" else 4


def make(score, scope, window=2, seed=0):
    attention = make_attention(score, scope, query_size=query_size(score), memory_size=M, size=A, window=window)
    randomise(attention.double(), seed)
    return attention


def draw(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def encoded(values, lengths=LENGTHS):
    lengths = torch.tensor(lengths)
    mask = torch.arange(values.shape[1]) < lengths.unsqueeze(1)
    return Encoded(values, draw(len(values), M, seed=9), mask, lengths)


def queries(score, seed=2):
    return draw(B, T, query_size(score), seed=seed)


def run(attention, query, values=None, lengths=LENGTHS):
    return attention(query, attention.prepare(encoded(draw(B, S, M) if values is None else values, lengths)))


@EVERY
@pytest.mark.parametrize("window", [1, 2, 50])
def test_weights_and_context_are_those_of_the_formulas(score, scope, window):
    attention, query, values = make(score, scope, window), queries(score), draw(B, S, M)
    context, weights = run(attention, query, values)
    formula = attention_weights(attention, score, scope, window)
    for b, length in enumerate(LENGTHS):
        for t in range(T):
            expected = formula(query[b, t].numpy(), values[b, :length].numpy(), None)
            np.testing.assert_allclose(context[b, t].detach(), expected[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(weights[b, t, :length].detach(), expected[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("score", ["additive", "concat"])
def test_additive_is_concat_with_its_matrix_split_in_two(score):
    attention, query, values = make(score, "global"), queries(score), draw(B, S, M)
    _, weights = run(attention, query, values)
    w = torch.cat([attention.score.query.weight, attention.score.memory.weight], dim=1).detach().numpy()
    v_a = attention.score.v.weight[0].detach().numpy()
    for b, length in enumerate(LENGTHS):
        for t in range(T):
            scores = [concat_score(query[b, t].numpy(), v.numpy(), w, v_a) for v in values[b, :length]]
            np.testing.assert_allclose(weights[b, t, :length].detach(), softmax(scores), rtol=0, atol=1e-12)


@EVERY
def test_gradients_are_those_of_finite_differences(score, scope):
    attention, query, values = make(score, scope), queries(score), draw(B, S, M)
    query.requires_grad_()
    values.requires_grad_()
    of_context, of_weights = draw(B, T, M, seed=3), draw(B, T, S, seed=4)

    def objective():
        context, weights = run(attention, query, values)
        return (context * of_context).sum() + (weights * of_weights).sum()

    inputs = dict(attention.named_parameters()) | {"query": query, "values": values}
    gradients = torch.autograd.grad(objective(), list(inputs.values()))
    step = 1e-6
    for (name, tensor), gradient in zip(inputs.items(), gradients, strict=True):
        assert gradient.abs().max() > 1e-3, name
        flat = tensor.detach().view(-1)
        for i in range(0, len(flat), 1 + len(flat) // 25):  # some 25 entries of each
            old = flat[i].item()
            with torch.no_grad():
                flat[i] = old + step
                above = objective()
                flat[i] = old - step
                below = objective()
                flat[i] = old
            assert gradient.view(-1)[i].item() == pytest.approx(((above - below) / (2 * step)).item(), abs=1e-7), name


@pytest.mark.parametrize("score", SCORES)
def test_the_gradient_reaches_the_predicted_position(score):
    attention = make(score, "local_p")
    context, _ = run(attention, queries(score))
    context.sum().backward()
    for parameter in (attention.scope.v.weight, attention.scope.hidden.weight):
        assert (parameter.grad != 0).all()


@EVERY
@pytest.mark.parametrize("window", [1, 3, 50])
def test_weights_sum_to_one_over_the_source_and_are_zero_at_padding(score, scope, window):
    _, weights = run(make(score, scope, window), queries(score))
    assert weights.shape == (B, T, S)
    total = weights.sum(2)
    if scope == "global":
        torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-14)
    else:  # the Gaussian takes from them, and nothing is put back
        assert (total > 0).all()
        assert (total < 1).all()
    for b, length in enumerate(LENGTHS):
        assert (weights[b, :, length:] == 0).all()
        if scope == "global":
            assert (weights[b, :, :length] > 0).all()


@EVERY
def test_what_lies_in_the_padding_does_not_matter(score, scope):
    attention, query, values = make(score, scope), queries(score), draw(B, S, M)
    rubbish = values.clone()
    for b, length in enumerate(LENGTHS):
        rubbish[b, length:] = 1000.0
    for one, other in zip(run(attention, query, values), run(attention, query, rubbish), strict=True):
        assert torch.equal(one, other)


@EVERY
def test_a_sentence_alone_has_the_weights_that_it_has_in_a_batch(score, scope):
    attention, query, values = make(score, scope), queries(score), draw(B, S, M)
    context, weights = run(attention, query, values)
    for b, length in enumerate(LENGTHS):
        alone_context, alone_weights = run(attention, query[b : b + 1], values[b : b + 1, :length], (length,))
        torch.testing.assert_close(context[b], alone_context[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[b, :, :length], alone_weights[0], rtol=0, atol=1e-12)


@EVERY
def test_queries_do_not_meet(score, scope):
    attention, query = make(score, scope), queries(score)
    context, weights = run(attention, query)
    for t in range(T):
        one_context, one_weights = run(attention, query[:, t : t + 1])
        torch.testing.assert_close(context[:, t : t + 1], one_context, rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[:, t : t + 1], one_weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("score", SCORES)
def test_the_local_window_is_centred_anew_for_every_query(score, window):
    attention, query = make(score, "local_p", window), queries(score)
    attention.scope.v.weight.data *= 3  # spreads the centres
    _, weights = run(attention, query)
    w_p, v_p = attention.scope.hidden.weight.detach().numpy(), attention.scope.v.weight[0].detach().numpy()
    centres = set()
    for b, length in enumerate(LENGTHS):
        for t in range(T):
            centre = predicted_position(query[b, t].numpy(), length, w_p, v_p)
            centres.add(round(centre))
            for s in range(S):
                inside = s < length and abs(s - centre) <= window
                assert (weights[b, t, s] > 0) == inside
    assert len(centres) > 3


def test_the_centre_is_a_share_of_the_sentences_own_length():
    attention, query = make("general", "local_p"), queries("general")[:1].expand(B, -1, -1)
    centre = attention.scope.centre(query, torch.tensor(LENGTHS)).detach()
    shares = centre / torch.tensor(LENGTHS)[:, None, None]
    torch.testing.assert_close(shares, shares[:1].expand_as(shares), rtol=1e-14, atol=0)
    assert ((shares > 0) & (shares < 1)).all()


@pytest.mark.parametrize(("sign", "centre_of"), [(1, lambda length: length), (-1, lambda _: 0)])
@pytest.mark.parametrize("window", [1, 2])
def test_a_centre_at_either_end_leaves_positions_in_the_window(sign, centre_of, window):
    attention, query = make("general", "local_p", window), queries("general")
    hidden = torch.tanh(query @ attention.scope.hidden.weight.T)[0, 0]
    attention.scope.v.weight.data[0] = sign * 1e6 * hidden.sign()  # the sigmoid becomes exactly 0 or 1
    values = draw(B, S, M)
    _, weights = run(attention, query[:1, :1].expand(B, -1, -1), values)
    for b, length in enumerate(LENGTHS):
        keys = values[b, :length] @ attention.score.memory.weight.T
        expected = local_p_weights((keys @ query[0, 0]).tolist(), centre_of(length), window)
        np.testing.assert_allclose(weights[b, 0, :length].detach(), expected, rtol=0, atol=1e-12)
        assert weights[b, 0].sum() > 0


@EVERY
def test_large_scores_do_not_overflow(score, scope):
    attention = make(score, scope)
    context, weights = run(attention, 1e4 * queries(score), 1e4 * draw(B, S, M))
    assert context.isfinite().all()
    assert weights.isfinite().all()


def test_keys_are_projected_once_and_shared_by_all_queries():
    attention = make("general", "global")
    memory = attention.prepare(encoded(draw(B, S, M)))
    query = queries("general")
    before, _ = attention(query, memory)
    attention.score.memory = nn.Linear(1, 1)  # forward has no more use for it
    after, _ = attention(query, memory)
    assert torch.equal(before, after)


def test_without_attention_every_query_gets_the_final_states():
    source = encoded(draw(B, S, M))
    fixed = FixedContext()
    context, weights = fixed(draw(B, T, 4), fixed.prepare(source))
    assert torch.equal(context, source.final.unsqueeze(1).expand(-1, T, -1))
    assert torch.equal(weights, torch.ones(B, T, 1, dtype=torch.float64))
