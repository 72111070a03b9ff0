"""Windows of local scopes: gathered, narrowing, at the ends of the source, past all that has a score."""

import numpy as np
import pytest
import torch
from support.all_pairs import all_pairs
from support.attention_cases import LENGTHS, B, M, S, draw, encoded, make, queries, run, steps
from support.formulas.scopes.local_p import weights_around
from support.tiny_models import LOCAL

from nmt.components import SCORES
from nmt.model.scopes import LocalPredictiveScope


def test_autocast_leaves_positions_exact():
    """bfloat16 knows no odd number above 256."""
    torch.manual_seed(1)
    length, window = 400, 10
    scope = LocalPredictiveScope(8, window=window)
    query, mask = torch.randn(1, 30, 8), torch.ones(1, length, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        found = scope(query, torch.zeros(1, 30, dtype=torch.long), mask, torch.tensor([length]))
        centre = scope.centre(query, torch.zeros(1, 30, dtype=torch.long), torch.tensor([length]))
    distance = found.positions.double() - centre.double().unsqueeze(2)
    assert torch.equal(found.inside, distance.abs() <= window)
    expected = torch.exp(-(distance**2) / (2 * (window / 2) ** 2))
    torch.testing.assert_close(found.gaussian.double(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("sign", "centre_of", "window"), [(1, lambda length: length, 1), (-1, lambda _: 0, 2)])
def test_a_centre_at_either_end_leaves_positions_in_the_window(sign, centre_of, window):
    case = ("general", "local_p", ())
    attention, query = make(case, window), queries(case)
    hidden = torch.tanh(query @ attention.scope.hidden.weight.T)[0, 0]
    attention.scope.v.weight.data[0] = sign * 1e6 * hidden.sign()  # the sigmoid becomes exactly 0 or 1
    values = draw(B, S, M)
    _, weights = run(attention, query[:1, :1].expand(B, -1, -1), values)
    for b, length in enumerate(LENGTHS):
        keys = values[b, :length] @ attention.score.memory.weight.T
        expected = weights_around((keys @ query[0, 0]).tolist(), centre_of(length), window)
        np.testing.assert_allclose(weights[b, 0, :length].detach(), expected, rtol=0, atol=1e-12)
        assert weights[b, 0].sum() > 0


@pytest.mark.parametrize(("score", "scope", "count", "window"), all_pairs(SCORES, LOCAL, [1, 2, 4], [1, 2]))
def test_windows_are_gathered_where_they_look_at_fewer_positions_than_there_are(score, scope, count, window):
    """Of a score that answers all queries by one product, only if all windows together do."""
    case = (score, scope, ())
    together = count if SCORES[score].one_product else 1
    for length in ((2 * window + 1) * together, (2 * window + 1) * together + 1):
        attention, query = make(case, window), queries(case, batch=1, count=count)
        memory = attention.prepare(encoded(draw(1, length, M), (length,)))
        _, alignment = attention(query, memory, steps(1, count))
        assert (alignment.positions is not None) == (length > (2 * window + 1) * together)


NARROWING = [(0, 16), (1, 8), (2, 4), (3, 2), (4, 1), (5, 1), (None, 1)]  # D after so many updates; None: evaluation


@pytest.mark.parametrize(
    ("scope", "extras", "position"),
    [("local_m", (), None), *(("local_p", extras, p) for extras in ((), ("heads",)) for p in ("diagonal", "middle"))],
)
def test_a_window_narrows_in_training_alone(scope, extras, position):
    """Geometrically, from narrow_from to window; of weights nothing else changes, gathered or not.

    While D is above fixed_above, local-p is fixed: its centre is d_t, and W_p and v_p have gradients of exactly 0.
    """
    case = ("general", scope, extras)
    attention, query, source = make(case, window=1), queries(case, batch=1, count=1), encoded(draw(1, 40, M), (40,))
    t = torch.tensor([[20]])
    for global_step, window in NARROWING:
        fixed = scope == "local_p" and global_step is not None and window > 4
        attention.train(global_step is not None)
        other = make(case, window)
        for one in (attention.scope, other.scope):
            one.initial_position, one.fixed_above = position, 4
        attention.scope.narrow_from, attention.scope.narrow_updates = 16, 4
        attention.scope.global_step = global_step or 0
        assert attention.scope.current_window() == window
        context, alignment = attention(query, attention.prepare(source), t)
        if scope == "local_p":
            gradients = torch.autograd.grad(context.sum(), [attention.scope.hidden.weight, attention.scope.v.weight])
            assert all((gradient == 0).all() == fixed for gradient in gradients)
        if fixed:
            torch.nn.init.zeros_(other.scope.v.weight)
        expected, weights = other(query, other.prepare(source), t)
        assert torch.equal(context, expected)
        assert torch.equal(alignment.dense(40), weights.dense(40))


@pytest.mark.parametrize("extras", [(), ("hard",)])
@pytest.mark.parametrize("scope", LOCAL)
def test_a_window_past_all_known_positions_has_no_weight_and_a_finite_gradient(scope, extras):
    case = ("location", scope, extras)
    attention = make(case, window=1)
    values = draw(1, 30, M).requires_grad_()
    query = queries(case, batch=1, count=2).requires_grad_()
    if scope == "local_p":
        hidden = torch.tanh(query @ attention.scope.hidden.weight.T).detach()[0, 0]
        attention.scope.v.weight.data[0] = 1e6 * hidden.sign()
    context, weights = run(attention, query[:, :1].expand(-1, 2, -1), values, (30,), t=torch.tensor([[28, 29]]))
    assert (weights == 0).all()
    assert (context == 0).all()
    context.sum().backward()
    assert values.grad.isfinite().all()
    assert query.grad.isfinite().all()
