"""A decoder: its cells against PyTorch's, whole passes against plain NumPy, its gradient, scheduled sampling, steps."""

import numpy as np
import pytest
import torch
from support import parameters
from support import tiny_models as tiny
from support.attention_cases import assert_gradients_are_those_of_finite_differences, draw
from torch import nn
from torch.utils._pytree import tree_leaves

from nmt.components import CELLS
from nmt.data.batching import pad
from nmt.decoding.beam_search import select
from nmt.model.cells import RecurrentStack
from nmt.text.vocabulary import BOS, EOS, PAD

TOLERANCE = {"rtol": 0, "atol": 1e-12}
SPREAD = pytest.mark.parametrize("variant", **tiny.parametrised(tiny.EACH_ONCE))
COVERING = [variant for variant in tiny.VARIANTS if variant.extra == "coverage"]


# Cells


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("cell", "kind"), [("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_the_stack_is_torchs_taken_step_by_step(cell, kind, layers):
    n, steps, inputs, hidden = 4, 6, 3, 5
    rnn = kind(inputs, hidden, layers, batch_first=True).double()
    stack = RecurrentStack(CELLS[cell], hidden, layers, dropout=0.5).double().eval()
    tiny.randomise(rnn)
    for layer in range(layers):
        stack.recurrent[layer].weight.data = getattr(rnn, f"weight_hh_l{layer}").data
        stack.recurrent[layer].bias.data = getattr(rnn, f"bias_hh_l{layer}").data
        if layer:
            stack.upper[layer - 1].weight.data = getattr(rnn, f"weight_ih_l{layer}").data
            stack.upper[layer - 1].bias.data = getattr(rnn, f"bias_ih_l{layer}").data
    x, first = draw(n, steps, inputs), draw(layers * (2 if cell == "lstm" else 1), n, hidden, seed=2)
    outputs, last = rnn(x, tuple(first.split(layers)) if cell == "lstm" else first)
    state, gates = first.unbind(0), x @ rnn.weight_ih_l0.T + rnn.bias_ih_l0
    torch.testing.assert_close(stack.sequence(gates, state), outputs, **TOLERANCE)
    for t in range(steps):
        state = stack(gates[:, t], state)
        torch.testing.assert_close(state[layers - 1], outputs[:, t], **TOLERANCE)
    torch.testing.assert_close(torch.stack(state), torch.cat(last) if cell == "lstm" else last, **TOLERANCE)


# Whole passes


def run(model, state, memory, inputs, teacher_forcing_mask=None):
    """A whole pass: readouts, and the weights of all positions."""
    readouts, alignment = model.decoder(inputs, state, memory, teacher_forcing_mask)
    return readouts, alignment.dense(memory.mask.shape[1])


@tiny.each_crossed(layers_and_window=[(1, tiny.WINDOW), (2, 1), (1, 50)])
def test_a_whole_pass_is_that_of_the_formulas(variant, layers_and_window):
    layers, window = layers_and_window
    model = tiny.tiny_model(variant, layers, window=window)
    formula = parameters.decoder_weights(model, variant)
    state, memory = tiny.encode(model)
    inputs = tiny.decoder_inputs()
    readouts, weights = run(model, state, memory, pad(inputs))
    logits = model.decoder.logits(readouts)
    assert logits.shape == (3, 5, tiny.TARGET_TYPES)
    assert weights.shape == (3, 5, 1 if variant.wiring == "none" else 8)
    for b, (source, tokens) in enumerate(zip(tiny.SOURCES, inputs, strict=True)):
        expected_logits, expected_weights = formula.decode(tokens, *parameters.encode_alone(model, [*source, EOS]))
        steps, positions = expected_weights.shape
        np.testing.assert_allclose(logits[b, :steps].detach(), expected_logits, rtol=0, atol=1e-11)
        np.testing.assert_allclose(weights[b, :steps, :positions].detach(), expected_weights, rtol=0, atol=1e-11)
        assert (weights[b, :, positions:] == 0).all()


@pytest.mark.parametrize("variant", **tiny.parametrised([*tiny.WIRINGS, *COVERING, *tiny.OTHER]))
def test_the_gradient_of_a_whole_pass_is_that_of_finite_differences(variant):
    """It goes from step to step through the states, h̃ and the coverage."""
    model, inputs, factor = (
        tiny.tiny_model(variant, window=1),
        pad(tiny.decoder_inputs()),
        draw(3, 5, tiny.TARGET_TYPES),
    )

    def objective():
        readouts, _ = model.decoder(inputs, *tiny.encode(model))
        return (model.decoder.logits(readouts) * factor).sum()

    parameters = dict(model.named_parameters())
    gradients = torch.autograd.grad(objective(), list(parameters.values()))
    assert_gradients_are_those_of_finite_differences(gradients, parameters, objective)


# Scheduled sampling


def choose(share):
    return torch.rand(3, 5, generator=torch.Generator().manual_seed(1)) < share


@tiny.each_crossed(share=[0, 0.3, 0.7, 1])
def test_elsewhere_the_model_reads_its_own_best_token(variant, share):
    """And BOS first; where it reads the reference everywhere, that is teacher forcing."""
    model, teacher_forcing_mask = tiny.tiny_model(variant), choose(share)
    decoder, inputs = model.decoder, pad(tiny.decoder_inputs())
    readouts, weights = run(model, *tiny.encode(model), inputs, teacher_forcing_mask)
    for b, source in enumerate(tiny.SOURCES):
        formula, (values, final) = (
            parameters.decoder_weights(model, variant),
            parameters.encode_alone(model, [*source, EOS]),
        )
        state, best = formula.initial(values, final), BOS
        for t in range(5):
            last = int(inputs[b, t]) if teacher_forcing_mask[b, t] and t > 0 else best
            logits, expected, state = formula.step(last, state, values, final)
            possible = logits.copy()
            possible[[PAD, BOS]] = -np.inf  # no target holds them
            best = int(np.argmax(possible))
            np.testing.assert_allclose(decoder.logits(readouts[b, t]).detach(), logits, rtol=0, atol=1e-11)
            np.testing.assert_allclose(weights[b, t, : len(expected)].detach(), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", **tiny.parametrised(tiny.WIRINGS))
def test_it_reads_what_greedy_search_would_take(variant):
    """Whatever the output layer thinks of PAD and BOS; and the choice draws no dropout: the output layer's, the only
    one there is here, is drawn once, for the loss."""
    model = tiny.tiny_model(variant)
    decoder, inputs = model.decoder, pad(tiny.decoder_inputs())
    with torch.no_grad():
        decoder.output.bias[[PAD, BOS]] = 100.0
    state, memory = tiny.encode(model)
    expected, _ = run(model, state, memory, inputs, choose(0))
    assert not torch.isin(decoder.best(expected.flatten(0, 1)), torch.tensor([PAD, BOS])).any()
    decoder.dropout.train().p = 0.9
    torch.manual_seed(1)
    before = torch.get_rng_state()
    found, _ = run(model, state, memory, inputs, choose(0))
    assert torch.equal(found, expected)
    assert torch.equal(torch.get_rng_state(), before)


# Steps


@SPREAD
def test_hypotheses_of_one_sentence_share_its_memory_and_a_step_changes_no_argument(variant):
    model = tiny.tiny_model(variant, layers=2)
    decoder, (state, memory) = model.decoder, tiny.encode(model)
    rows = torch.arange(len(tiny.SOURCES)).repeat_interleave(4)
    inputs = decoder.embed(torch.arange(len(rows)) % tiny.TARGET_TYPES)
    _, state, _ = decoder.step(inputs, select(state, rows), memory)
    arguments = tree_leaves((inputs, state, memory))
    copies = [None if leaf is None else leaf.clone() for leaf in arguments]
    shared, repeated = (decoder.step(inputs, state, of_rows) for of_rows in (memory, select(memory, rows)))
    for one, other in zip(tree_leaves(shared[:2]), tree_leaves(repeated[:2]), strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)
    weights, expected = (alignment.dense(memory.mask.shape[1]) for *_, alignment in (shared, repeated))
    torch.testing.assert_close(weights, expected, **TOLERANCE)
    assert all(one is None or torch.equal(one, other) for one, other in zip(arguments, copies, strict=True))


# Modules hold parameters only


def everything_in(model):
    """Each module's attributes by identity, and what its containers hold."""
    held = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            items = list(value.values() if isinstance(value, dict) else value) if isinstance(value, dict | list) else []
            held[name, key] = (id(value), [id(item) for item in items])
    return held


@SPREAD
def test_running_a_model_leaves_nothing_in_it(variant):
    for training in (False, True):
        model, inputs = tiny.tiny_model(variant, layers=2).train(training), pad(tiny.decoder_inputs())
        before = everything_in(model)
        state, memory = tiny.encode(model)
        first = run(model, state, memory, inputs)
        model.decoder(inputs, state, memory, choose(0.5))
        readout, *_ = model.decoder.step(model.decoder.embed(inputs[:, 0]), state, memory)
        model.decoder.logits(readout)
        assert everything_in(model) == before
        if not training:
            for one, other in zip(first, run(model, *tiny.encode(model), inputs), strict=True):
                assert torch.equal(one, other)
