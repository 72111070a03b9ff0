"""Every score, scope and variant against plain NumPy, their gradients against finite differences, and what padding may
not do."""

from itertools import product

import numpy as np
import pytest
import torch
from formulas import concat_score, local_p_weights, predicted_position, softmax
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import COMBINATIONS, EXTRAS, SCOPES, SCORES, attention_weights, randomise
from torch import nn

import nmt.model.attention
from nmt.config_model import AttentionConfig
from nmt.model.attention import Alignment, FixedContext
from nmt.model.encoder import Encoded
from nmt.model.seq2seq import make_attention

LENGTHS = (4, 7, 1)
B, T, S, M, A, H = 3, 5, 7, 8, 10, 6
POSITIONS = 5  # that location knows

TOGETHER = ("hard", "key_value", "heads", "coverage")
EXTRA_SETS = [(), *((extra,) for extra in EXTRAS), TOGETHER]
CASES = [
    (score, scope, extras)
    for (score, scope), extras in product(COMBINATIONS, EXTRA_SETS)
    if score != "location" or extras in ((), ("hard",))
]
IDS = ["-".join([score, scope, *extras]) for score, scope, extras in CASES]
EVERY = pytest.mark.parametrize("case", CASES, ids=IDS)
EVERY_SCORE_AND_SCOPE = pytest.mark.parametrize(("score", "scope"), COMBINATIONS)


def value_size(extras):
    return M // 2 if "key_value" in extras else M


def query_size(score, extras):
    return value_size(extras) if score.endswith("dot") else H


def make(case, window=2, seed=0):
    score, scope, extras = case
    settings = {"score": score, "scope": scope, **{k: v for extra in extras for k, v in EXTRAS[extra].items()}}
    if scope != "global":
        settings["window"] = window
    if score in ("additive", "concat"):
        settings["size"] = A
    if score == "location":
        settings["positions"] = POSITIONS
    attention = make_attention(AttentionConfig(**settings), query_size(score, extras), value_size(extras))
    randomise(attention.double(), seed)
    return attention


def draw(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def encoded(values, lengths=LENGTHS):
    lengths = torch.tensor(lengths)
    mask = torch.arange(values.shape[1]) < lengths.unsqueeze(1)
    return Encoded(values, draw(len(values), M, seed=9), mask, lengths)


def queries(case, *, batch=B, count=T, seed=2):
    return draw(batch, count, query_size(case[0], case[2]), seed=seed)


def steps(batch=B, count=T):
    """Target positions: another beginning for each sentence, so that local-m's windows differ."""
    return torch.arange(count) + torch.tensor([0, 3, 6]).repeat(batch)[:batch].unsqueeze(1)


def covered(attention, batch=B, count=T, length=S):
    return 2 * draw(batch, count, length, seed=7).abs() if attention.coverage else None


def run(attention, query, values=None, lengths=LENGTHS, t=None, coverage=None):
    """Context, and the weights of all positions."""
    values = draw(B, S, M) if values is None else values
    sizes = (*query.shape[:2], values.shape[1])
    coverage = covered(attention, *sizes) if coverage is None else coverage
    t = steps(*sizes[:2]) if t is None else t
    context, alignment = attention(query, attention.prepare(encoded(values, lengths)), t, coverage)
    return context, alignment.dense(values.shape[1])


def assert_equal_to_the_formulas(attention, score, query, values, lengths):
    context, weights = run(attention, query, values, lengths)
    t, coverage = steps(*query.shape[:2]), covered(attention, *query.shape[:2], values.shape[1])
    formula = attention_weights(attention, score)
    for b, length in enumerate(lengths):
        for i in range(query.shape[1]):
            seen = None if coverage is None else coverage[b, i, :length].numpy()
            expected = formula(query[b, i].numpy(), values[b, :length].numpy(), None, t[b, i].item(), seen)
            np.testing.assert_allclose(context[b, i].detach(), expected[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(weights[b, i, :length].detach(), expected[1], rtol=0, atol=1e-12)
            assert (weights[b, i, length:] == 0).all()


# Against the formulas


@EVERY
@pytest.mark.parametrize("window", [1, 2, 50])
@pytest.mark.parametrize("count", [1, T])
def test_weights_and_context_are_those_of_the_formulas(case, window, count):
    if case[1] == "global" and window > 1:
        window = 1
    assert_equal_to_the_formulas(make(case, window), case[0], queries(case, count=count), draw(B, S, M), LENGTHS)


@settings(max_examples=150, deadline=None)
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


@pytest.mark.parametrize("score", ["additive", "concat"])
def test_additive_is_concat_with_its_matrix_split_in_two(score):
    case = (score, "global", ())
    attention, query, values = make(case), queries(case), draw(B, S, M)
    _, weights = run(attention, query, values)
    w = torch.cat([attention.score.query.weight, attention.score.memory.weight], dim=1).detach().numpy()
    v_a = attention.score.v.weight[0].detach().numpy()
    for b, length in enumerate(LENGTHS):
        for t in range(T):
            scores = [concat_score(query[b, t].numpy(), v.numpy(), w, v_a) for v in values[b, :length]]
            np.testing.assert_allclose(weights[b, t, :length].detach(), softmax(scores), rtol=0, atol=1e-12)


# Gradients


def assert_gradients_are_those_of_finite_differences(gradients, inputs, objective, insensitive=()):
    step = 1e-6
    for (name, tensor), gradient in zip(inputs.items(), gradients, strict=True):
        if name in insensitive:
            assert gradient.abs().max() < 1e-12, name
        else:
            assert gradient.abs().max() > 1e-4, name
        flat = tensor.detach().view(-1)
        for i in range(0, len(flat), 1 + len(flat) // 20):  # some 20 entries of each
            old = flat[i].item()
            with torch.no_grad():
                flat[i] = old + step
                above = objective()
                flat[i] = old - step
                below = objective()
                flat[i] = old
            assert gradient.flatten()[i].item() == pytest.approx(((above - below) / (2 * step)).item(), abs=3e-7), name


@EVERY
@pytest.mark.parametrize("count", [1, T])  # with one query the windows are gathered, whatever the score
def test_gradients_are_those_of_finite_differences(case, count, monkeypatch):
    score, scope, extras = case
    attention, query, values = make(case, window=1), queries(case, count=count), draw(B, S, M)
    coverage = covered(attention, B, count)
    inputs = dict(attention.named_parameters()) | {"query": query, "values": values}
    inputs |= {} if coverage is None else {"coverage": coverage}
    for tensor in (query, values, *([] if coverage is None else [coverage])):
        tensor.requires_grad_()
    of_context, of_weights = draw(B, count, value_size(extras), seed=3), draw(B, count, S, seed=4)

    def objective():
        context, weights = run(attention, query, values, coverage=coverage)
        return (context * of_context).sum() + (weights * of_weights).sum()

    gradients = torch.autograd.grad(objective(), list(inputs.values()))
    if "hard" in extras:
        # Straight through: the objective is that of the one-hot weights moved by as much as the soft ones move.
        soft = []
        monkeypatch.setattr(
            nmt.model.attention, "_straight_through", lambda weights, _: soft.append(weights) or weights
        )
        objective()
        (at_first,) = soft
        largest = torch.zeros_like(at_first).scatter(2, at_first.argmax(2, keepdim=True), 1.0)
        moved = (largest * (at_first > 0) - at_first).detach()
        monkeypatch.setattr(nmt.model.attention, "_straight_through", lambda weights, _: weights + moved)
    insensitive = {"linear": ["score.query.weight"]}.get(score, [])
    if score == "linear" and scope != "local_p":
        insensitive += ["query", "heads.query.weight"]
    assert_gradients_are_those_of_finite_differences(gradients, inputs, objective, insensitive)


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == "local_p"], ids=str)
def test_the_gradient_reaches_the_predicted_position(case):
    attention = make(case)
    context, weights = run(attention, queries(case))
    ((context * draw(*context.shape, seed=5)).sum() + (weights * draw(B, T, S, seed=6)).sum()).backward()
    for parameter in (attention.scope.v.weight, attention.scope.hidden.weight):
        assert (parameter.grad != 0).all()


# Weights


@EVERY
@pytest.mark.parametrize("window", [1, 3, 50])
def test_weights_sum_to_one_over_the_source_and_are_zero_at_padding(case, window):
    score, scope, extras = case
    _, weights = run(make(case, window), queries(case))
    assert weights.shape == (B, T, S)
    total = weights.sum(2)
    assert (weights >= 0).all()
    assert (total <= 1 + 1e-14).all()
    if scope == "global" or (scope == "local_m" and score != "location") or ("hard" in extras and score != "location"):
        torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-14)
    elif score != "location":  # the Gaussian takes from them, and nothing is put back
        assert ((total > 0) & (total < 1)).all()
    for b, length in enumerate(LENGTHS):
        assert (weights[b, :, length:] == 0).all()
        if scope == "global" and "hard" not in extras:
            assert (weights[b, :, : length if score != "location" else min(length, POSITIONS)] > 0).all()
            assert score != "location" or (weights[b, :, POSITIONS:] == 0).all()
        if "hard" in extras and "heads" not in extras:
            assert ((weights[b] == 0) | (weights[b] == 1)).all()


@EVERY
def test_what_lies_in_the_padding_does_not_matter(case):
    attention, query, values = make(case), queries(case), draw(B, S, M)
    rubbish = values.clone()
    for b, length in enumerate(LENGTHS):
        rubbish[b, length:] = 1000.0
    for one, other in zip(run(attention, query, values), run(attention, query, rubbish), strict=True):
        assert torch.equal(one, other)


@EVERY
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


@EVERY
@pytest.mark.parametrize("window", [1, 2])
def test_queries_do_not_meet(case, window):
    attention, query = make(case, window), queries(case)
    coverage = covered(attention)
    context, weights = run(attention, query)
    for i in range(T):
        here = slice(i, i + 1)
        own = None if coverage is None else coverage[:, here]
        one_context, one_weights = run(attention, query[:, here], t=steps()[:, here], coverage=own)
        torch.testing.assert_close(context[:, here], one_context, rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[:, here], one_weights, rtol=0, atol=1e-12)


@EVERY
def test_large_scores_do_not_overflow(case):
    attention = make(case)
    context, weights = run(attention, 1e4 * queries(case), 1e4 * draw(B, S, M))
    assert context.isfinite().all()
    assert weights.isfinite().all()


# Scopes


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("scope", SCOPES[1:])
def test_weights_are_zero_outside_the_window_and_only_there(score, scope, window):
    case = (score, scope, ())
    attention, query = make(case, window), queries(case)
    known = POSITIONS if score == "location" else S
    if scope == "local_p":
        attention.scope.v.weight.data *= 3  # spreads the centres
        w_p, v_p = attention.scope.hidden.weight.detach().numpy(), attention.scope.v.weight[0].detach().numpy()
    _, weights = run(attention, query)
    centres = set()
    for b, length in enumerate(LENGTHS):
        for i in range(T):
            if scope == "local_m":
                centre = min(steps()[b, i].item(), length - 1)
            else:
                centre = predicted_position(query[b, i].numpy(), length, w_p, v_p)
            centres.add(round(centre))
            for s in range(S):
                assert (weights[b, i, s] > 0) == (s < min(length, known) and abs(s - centre) <= window)
    assert len(centres) > 3


def test_the_centre_is_a_share_of_the_sentences_own_length():
    case = ("general", "local_p", ())
    attention, query = make(case), queries(case)[:1].expand(B, -1, -1)
    centre = attention.scope.centre(query, steps(), torch.tensor(LENGTHS)).detach()
    shares = centre / torch.tensor(LENGTHS)[:, None]
    torch.testing.assert_close(shares, shares[:1].expand_as(shares), rtol=1e-14, atol=0)
    assert ((shares > 0) & (shares < 1)).all()


@pytest.mark.parametrize(("sign", "centre_of"), [(1, lambda length: length), (-1, lambda _: 0)])
@pytest.mark.parametrize("window", [1, 2])
def test_a_centre_at_either_end_leaves_positions_in_the_window(sign, centre_of, window):
    case = ("general", "local_p", ())
    attention, query = make(case, window), queries(case)
    hidden = torch.tanh(query @ attention.scope.hidden.weight.T)[0, 0]
    attention.scope.v.weight.data[0] = sign * 1e6 * hidden.sign()  # the sigmoid becomes exactly 0 or 1
    values = draw(B, S, M)
    _, weights = run(attention, query[:1, :1].expand(B, -1, -1), values)
    for b, length in enumerate(LENGTHS):
        keys = values[b, :length] @ attention.score.memory.weight.T
        expected = local_p_weights((keys @ query[0, 0]).tolist(), centre_of(length), window)
        np.testing.assert_allclose(weights[b, 0, :length].detach(), expected, rtol=0, atol=1e-12)
        assert weights[b, 0].sum() > 0


@pytest.mark.parametrize("extras", [(), ("hard",)])
@pytest.mark.parametrize("scope", SCOPES[1:])
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


# Scores and variants


@pytest.mark.parametrize("scope", ["global", "local_m"])
def test_linear_weights_do_not_depend_on_the_query(scope):
    case = ("linear", scope, ())
    attention = make(case)
    _, weights = run(attention, queries(case))
    _, others = run(attention, queries(case, seed=12))
    torch.testing.assert_close(weights, others, rtol=0, atol=1e-13)
    if scope == "global":
        torch.testing.assert_close(weights, weights[:, :1].expand_as(weights), rtol=0, atol=1e-13)
    context, weights = run(attention, queries(case))
    ((context * draw(*context.shape)).sum() + (weights * draw(*weights.shape)).sum()).backward()
    assert attention.score.query.weight.grad.abs().max() < 1e-13
    assert attention.score.memory.weight.grad.abs().max() > 1e-2


@EVERY_SCORE_AND_SCOPE
def test_every_other_score_asks_the_query(score, scope):
    case = (score, scope, ())
    attention = make(case)
    _, weights = run(attention, queries(case))
    _, others = run(attention, queries(case, seed=12))
    assert torch.allclose(weights[:2], others[:2]) == (score == "linear" and scope != "local_p")


@pytest.mark.parametrize("score", ["dot", "general"])
def test_scaling_divides_by_the_root_of_the_querys_size(score):
    plain, scaled = ((name, "global", ()) for name in (score, f"scaled_{score}"))
    _, weights = run(make(scaled), queries(scaled))
    _, expected = run(make(plain), queries(plain) / query_size(score, ()) ** 0.5)
    torch.testing.assert_close(weights, expected, rtol=0, atol=1e-14)


def test_key_value_scores_one_half_of_each_direction_and_averages_the_other():
    attention = make(("general", "global", ("key_value",)))
    values = draw(B, S, M)
    memory = attention.prepare(encoded(values))
    scored, averaged = values[:, :, [0, 1, 4, 5]], values[:, :, [2, 3, 6, 7]]
    assert torch.equal(memory.values, averaged)
    torch.testing.assert_close(memory.keys, scored @ attention.score.memory.weight.T, rtol=0, atol=1e-14)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("score", [s for s in SCORES if s != "location"])
def test_covered_positions_have_other_weights_and_no_coverage_is_no_feature(score, scope):
    case = (score, scope, ("coverage",))
    attention, query = make(case), queries(case)
    _, weights = run(attention, query)
    _, at_first = run(attention, query, coverage=torch.zeros(B, T, S, dtype=torch.float64))
    assert not torch.allclose(weights[:2], at_first[:2])
    without = make((score, scope, ()))
    own = {name: p for name, p in attention.state_dict().items() if name != "score.coverage.weight"}
    without.load_state_dict(own)
    _, expected = run(without, query)
    torch.testing.assert_close(at_first, expected, rtol=0, atol=1e-14)


# Memory


def test_keys_are_projected_once_and_shared_by_all_queries():
    case = ("general", "global", ())
    attention = make(case)
    memory = attention.prepare(encoded(draw(B, S, M)))
    before, _ = attention(queries(case), memory, steps())
    attention.score.memory = nn.Linear(1, 1)  # forward has no more use for it
    after, _ = attention(queries(case), memory, steps())
    assert torch.equal(before, after)


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
