"""Latent attention: the mixture by its formula, its lower bounds by enumeration, and their gradients."""

from itertools import product

import numpy as np
import pytest
import torch
from latent.models import BATCH, ESTIMATORS, TOLERANCE, latent_model, objective
from support import parameters
from support.formulas import bidirectional, layered, log_softmax, softmax
from support.tiny_models import DECODER_HIDDEN, SOURCES, TARGETS, Variant, decoder_inputs, encode, tiny_model

from nmt.components import SCORES
from nmt.data.batching import Example, collate, pad
from nmt.decoding.scoring import score
from nmt.fast import accelerate
from nmt.latent.objective import draw, expected, read, sampled
from nmt.text.vocabulary import EOS
from nmt.training.loss import BatchLoss


def by_formula(model, score, source, tokens):
    """log p (T V) of a sentence, Σ_s α_s softmax(W_y tanh(W_c [v_s; h]) + b_y) word by word, and α (T S)."""
    p = parameters.decoder_weights(model, Variant("luong", score))
    values, final = parameters.encode_alone(model, [*source, EOS])
    hidden = p.initial(values, final).hidden
    log_p, weights = [], []
    for t, y in enumerate(tokens):
        hidden = layered(p.embedding[y], hidden, p.layers)
        _, alpha = p.attention(p.top(hidden), values, final, t)
        vectors = [np.tanh(p.w_c @ np.concatenate([v, p.top(hidden)])) for v in values]
        log_p.append(np.log(sum(a * softmax(p.w_y @ h + p.b_y) for a, h in zip(alpha, vectors, strict=True))))
        weights.append(alpha)
    return np.stack(log_p), np.stack(weights)


# The mixture


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("name", "layers"), [*((name, 1) for name in SCORES), ("general", 2)])
def test_a_whole_pass_is_the_mixture_of_the_formula(name, layers, estimator):
    """All at once, step by step, and with the reference read by scheduled sampling; probabilities sum to 1."""
    model, inputs = latent_model(estimator, name, layers), pad(decoder_inputs())
    state, memory = encode(model)
    readouts, alignment = model.decoder(inputs, state, memory)
    log_p, weights = model.decoder.logits(readouts), alignment.dense(8)
    torch.testing.assert_close(log_p.exp().sum(dim=2), torch.ones(3, 5, dtype=torch.float64), **TOLERANCE)
    one_by_one, _ = model.decoder(inputs, state, memory, torch.ones_like(inputs, dtype=torch.bool))
    torch.testing.assert_close(model.decoder.logits(one_by_one), log_p, **TOLERANCE)
    for t, tokens in enumerate(inputs.unbind(1)):
        step, state = model.step(tokens, state, memory)
        torch.testing.assert_close(step, log_p[:, t], **TOLERANCE)
    for b, (source, target) in enumerate(zip(SOURCES, decoder_inputs(), strict=True)):
        expected_log_p, alpha = by_formula(model, name, source, target)
        count, positions = alpha.shape
        np.testing.assert_allclose(log_p[b, :count].detach(), expected_log_p, **TOLERANCE)
        np.testing.assert_allclose(weights[b, :count, :positions].detach(), alpha, **TOLERANCE)
        assert (weights[b, :, positions:] == 0).all()


def test_with_all_weight_on_one_position_it_is_the_ordinary_model():
    """Which has the same weights by the same names."""
    model, ordinary = latent_model(), tiny_model(Variant("luong"), seed=5)
    with torch.no_grad():
        ordinary.decoder.attention.score.v.weight *= 1e9
    model.load_state_dict(ordinary.state_dict())
    (state, memory), inputs = encode(model), pad(decoder_inputs())
    readouts, alignment = model.decoder(inputs, state, memory)
    assert set(alignment.weights.flatten().tolist()) == {0.0, 1.0}
    expected = ordinary.decoder.logits(ordinary.decoder(inputs, *encode(ordinary))[0]).log_softmax(dim=2)
    torch.testing.assert_close(model.decoder.logits(readouts), expected, **TOLERANCE)


def test_dropout_leaves_the_weights_alone():
    model = latent_model()
    state, memory = encode(model)
    readouts, alignment = model.decoder(pad(decoder_inputs()), state, memory)
    model.decoder.dropout.p = 0.5
    dropped = model.train().decoder.features(readouts).unflatten(-1, (8, DECODER_HIDDEN + 1))
    vectors, log_weights = dropped.split((DECODER_HIDDEN, 1), dim=-1)
    torch.testing.assert_close(log_weights.squeeze(-1).exp(), alignment.weights, **TOLERANCE)
    assert 0.3 < (vectors == 0).double().mean() < 0.7


# Lower bounds of its logarithm


def tokens_of(estimator, seed=0):
    model = latent_model(estimator, seed=seed)
    return model, read(model, BATCH)[0]


def gradients(value, model):
    """Those of all weights; 0 for weights that have none."""
    weights = list(model.parameters())
    found = torch.autograd.grad(value, weights, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(w) if g is None else g for w, g in zip(weights, found, strict=True)]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("estimator", ["variational", "reinforce"])
def test_sampled_gradients_are_the_exact_ones_in_the_mean(estimator, count):
    """Over all ways to draw `count` of 8 positions for each token, by their probabilities; so is the likelihood."""
    model, tokens = tokens_of(estimator)
    bound, log_p = expected(model, tokens, smoothing=0.1)
    total, likelihood = 0.0, 0.0
    for drawn in product(range(tokens.q.shape[1]), repeat=count):
        probability = tokens.q[:, drawn].detach().prod(dim=1)
        one, estimate = sampled(model, tokens, 0.1, torch.tensor([drawn] * len(probability)))
        total = total + (probability * one).sum()
        likelihood = likelihood + probability * estimate.exp()
    assert total.item() == pytest.approx(bound.sum().item(), rel=1e-12)
    torch.testing.assert_close(likelihood, log_p.exp(), **TOLERANCE)
    for mean, exact in zip(gradients(total, model), gradients(bound.sum(), model), strict=True):
        torch.testing.assert_close(mean, exact, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_below_the_likelihood_but_for_the_posterior(seed):
    model, tokens = tokens_of("variational", seed)
    bound, log_p = expected(model, tokens, smoothing=0)
    several = (tokens.q > 0).sum(dim=1) > 1
    assert several.sum() == 8
    assert (bound < log_p - 1e-6)[several].all()
    of_alpha, same = expected(model, tokens._replace(q=tokens.alpha), smoothing=0)
    assert (of_alpha < log_p - 1e-9)[several].all()
    assert same.equal(log_p)
    at_each = [sampled(model, tokens, 0, torch.full((len(log_p), 1), s))[1] for s in range(tokens.q.shape[1])]
    joint = torch.stack(at_each, dim=1).exp() * tokens.q  # p(y | v_s, h) α_s
    posterior = joint / joint.sum(dim=1, keepdim=True)
    torch.testing.assert_close(expected(model, tokens._replace(q=posterior), smoothing=0)[0], log_p, **TOLERANCE)


def test_positions_are_drawn_by_their_probabilities():
    torch.manual_seed(3)
    q = torch.tensor([[0.2, 0.5, 0.3, 0.0], [0.0, 0.0, 1.0, 0.0]])
    drawn = draw(q, 10_000)
    frequencies = torch.stack([(drawn == s).double().mean(dim=1) for s in range(4)], dim=1)
    torch.testing.assert_close(frequencies, q.double(), rtol=0, atol=0.025)
    assert (frequencies[q == 0] == 0).all()


def test_the_inference_network_is_its_formula():
    """It reads the whole target, y_t and what follows too."""
    model = latent_model("variational")
    network, embedding = model.decoder.inference, model.decoder.embedding.weight.detach().numpy()
    rnn, keys = parameters.rnn_weights(network.rnn), network.score.memory.weight.detach().numpy()
    q, row = read(model, BATCH)[0].q.detach(), 0
    for source, target in zip(SOURCES, TARGETS, strict=True):
        values, _ = parameters.encode_alone(model, [*source, EOS])
        states, _ = bidirectional([embedding[y] for y in (*target, EOS)], rnn)
        for g in states:
            weights = softmax([g @ keys @ v for v in values])
            np.testing.assert_allclose(q[row, : len(values)], weights, **TOLERANCE)
            assert (q[row, len(values) :] == 0).all()
            row += 1
    assert row == len(q)


def test_entropy_is_added_and_guidance_too():
    model = latent_model("reinforce")
    usual, more = (BatchLoss(model, 0.0, objective=objective("reinforce", entropy=e)) for e in (0.0, 0.7))
    alpha = read(model, BATCH)[0].alpha.detach().numpy()
    entropy = -sum(a * np.log(a) for a in alpha.flatten() if a > 0)
    for losses in (usual, more):
        torch.manual_seed(0)
        losses.value = losses(BATCH).smoothed.item()
    assert usual.value - more.value == pytest.approx(0.7 * entropy)
    pairs = [Example(s, t, np.array([[0, 0]])) for s, t in zip(SOURCES, TARGETS, strict=True)]
    guided = BatchLoss(model, 0.0, lambda alignment, links, _: -(links * alignment.weights).sum(), usual.objective)
    torch.manual_seed(0)
    weights = model.attention_weights(BATCH.target_input, *model.encode(BATCH.source, BATCH.source_lengths))
    difference = guided(collate(pairs)).smoothed.item() - usual.value
    assert difference == pytest.approx(-weights[:, 0, 0].sum().item())


# Batches, plain and fast


def most_likely(q, count):
    """In the place of `draw`, so that a sentence's draws do not depend on its batch."""
    return q.argsort(dim=1, descending=True, stable=True)[:, :1].expand(-1, count)


@pytest.mark.parametrize(
    ("estimator", "settings"),
    [("exact", {}), ("variational", {}), ("variational", {"samples": 2}), ("reinforce", {"samples": 3})],
    ids=str,
)
@pytest.mark.parametrize(
    ("name", "other"), [("additive", ""), ("general", "lstm"), ("location", ""), ("dot", "mingru")]
)
def test_a_batch_learns_as_its_sentences_do(monkeypatch, name, other, estimator, settings):
    """In chunks or not, plain or fast; every weight has a gradient, and scoring says the same as the loss."""
    monkeypatch.setattr("nmt.latent.objective.draw", most_likely)
    pairs = [Example([*source], target) for source, target in zip(SOURCES, TARGETS, strict=True)]
    models = [latent_model(estimator, name, other=other).train() for _ in range(4)]
    losses = [BatchLoss(model, 0.1, objective=objective(estimator, **settings)) for model in models]
    accelerate(losses[1], "float32")
    values = [losses[0](BATCH), losses[1](BATCH)]
    monkeypatch.setattr("nmt.latent.decoder.CHUNK", 20)
    values.append(losses[2](BATCH))
    alone = [losses[3](collate([pair])) for pair in pairs]
    values.append(type(alone[0])(*(sum(parts) for parts in zip(*alone, strict=True))))
    for model, value in zip(models, values, strict=True):
        assert value.nll.item() == pytest.approx(values[0].nll.item(), rel=1e-9)
        assert value.smoothed.item() == pytest.approx(values[0].smoothed.item(), rel=1e-9)
        value.smoothed.backward()
        for weight, same in zip(model.parameters(), models[0].parameters(), strict=True):
            assert weight.grad is not None
            torch.testing.assert_close(weight.grad, same.grad, rtol=1e-6, atol=1e-9)
    plain = BatchLoss(models[0].eval(), 0.0)(BATCH).nll.item()
    assert sum(-s.log_probability for s in score(models[0], pairs, 2)) == pytest.approx(plain, rel=1e-6)
    if not settings:
        assert values[0].nll.item() == pytest.approx(plain)


def test_label_smoothing_is_that_of_the_mixture_or_of_each_position():
    model, targets = latent_model(), BATCH.target_output.flatten()[BATCH.loss_positions]
    readouts, _ = model.decoder(BATCH.target_input, *model.encode(BATCH.source, BATCH.source_lengths))
    log_p = model.decoder.logits(readouts).flatten(0, 1)[BATCH.loss_positions].detach()
    of_targets = log_p.gather(1, targets.unsqueeze(1)).sum()
    expected_loss = -0.8 * of_targets - 0.2 * log_p.mean(dim=1).sum()
    assert BatchLoss(model, 0.2)(BATCH).smoothed.item() == pytest.approx(expected_loss.item())
    one = latent_model("variational").decoder.output
    vectors = torch.randn(2, 3, DECODER_HIDDEN, dtype=torch.float64)
    plain, smoothed = one.log_likelihoods(vectors, torch.tensor([5, 4]), 0.2).detach().numpy()
    for row, target in enumerate((5, 4)):
        for s in range(3):
            log_p = log_softmax((one.weight @ vectors[row, s] + one.bias).detach().numpy())
            assert plain[row, s] == pytest.approx(log_p[target])
            assert smoothed[row, s] == pytest.approx(0.8 * log_p[target] + 0.2 * log_p.mean())
