"""A decoder's step against plain NumPy, its cells against PyTorch's, and that hypotheses share a memory."""

import numpy as np
import pytest
import torch
from support import tiny_models as tiny
from support.attention_cases import draw
from support.decoding import SPREAD, TOLERANCE, random_state, step
from support.formulas import DecoderState
from torch import nn
from torch.utils._pytree import tree_leaves

from nmt.decoding.beam_search import select
from nmt.model.cells import RecurrentStack
from nmt.text.vocabulary import EOS


def state_of_sentence(state, b, length):
    """Row `b` of a state as the formulas want it; `length` is the number of the sentence's source positions."""
    coverage = None if state.coverage is None else state.coverage[b, :length].detach().numpy()
    size = state.hidden[0].shape[1]
    fed = np.zeros(size) if state.attentional is None else state.attentional[b].detach().numpy()
    return DecoderState([tensor[b].detach().numpy() for tensor in state.hidden], fed, state.t[b].item(), coverage)


def assert_same_state(found, expected, **tolerance):
    assert found.t == expected.t
    for one, other in zip([*found.hidden, found.fed], [*expected.hidden, expected.fed], strict=True):
        np.testing.assert_allclose(one, other, **tolerance)
    assert (found.coverage is None) == (expected.coverage is None)
    if found.coverage is not None:
        np.testing.assert_allclose(found.coverage, expected.coverage, **tolerance)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("cell", "kind"), [("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_the_stack_is_torchs_taken_step_by_step(cell, kind, layers):
    n, steps, inputs, hidden = 4, 6, 3, 5
    rnn = kind(inputs, hidden, layers, batch_first=True).double()
    stack = RecurrentStack(cell, hidden, layers, dropout=0.5).double().eval()
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


# Against the formulas


@tiny.each_crossed(layers=[1, 2])
def test_one_step_is_that_of_the_formulas(variant, layers):
    model = tiny.tiny_model(variant, layers)
    formula = tiny.decoder_weights(model, variant)
    state, memory = tiny.encode(model)
    state = random_state(state)
    last = [4, 8, 6]
    readout, new, weights = step(model, last, state, memory)
    logits = model.decoder.logits(readout)
    for b, source in enumerate(tiny.SOURCES):
        values, final = tiny.encode_alone(model, [*source, EOS])
        before, after = (state_of_sentence(s, b, len(values)) for s in (state, new))
        expected_logits, expected_weights, expected = formula.step(last[b], before, values, final)
        if variant.wiring == "luong" and not variant.input_feeding:
            expected.fed = after.fed  # which nobody reads
        positions = len(expected_weights)
        np.testing.assert_allclose(logits[b].detach(), expected_logits, **TOLERANCE)
        np.testing.assert_allclose(weights[b, :positions].detach(), expected_weights, **TOLERANCE)
        assert (weights[b, positions:] == 0).all()
        assert_same_state(after, expected, **TOLERANCE)
    assert len(new.hidden) == model.decoder.states
    assert (new.coverage is not None) == (variant.extra == "coverage")
    assert (new.attentional is not None) == variant.input_feeding


# What a step is given


@SPREAD
def test_hypotheses_of_one_sentence_share_its_memory(variant):
    model = tiny.tiny_model(variant, layers=2)
    beam = 4
    state, memory = tiny.encode(model)
    rows = torch.arange(len(tiny.SOURCES)).repeat_interleave(beam)
    state = random_state(select(state, rows))
    last = torch.arange(len(rows)) % tiny.TARGET_TYPES
    shared = step(model, last, state, memory)
    repeated = step(model, last, state, select(memory, rows))
    for one, other in zip(tree_leaves(shared), tree_leaves(repeated), strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)


@SPREAD
def test_a_step_does_not_change_its_arguments(variant):
    model = tiny.tiny_model(variant)
    state, memory = tiny.encode(model)
    inputs = model.decoder.embed(torch.tensor([4, 8, 6]))
    arguments = [leaf for leaf in tree_leaves((inputs, state, memory)) if leaf is not None]
    copies = [tensor.clone() for tensor in arguments]
    model.decoder.step(inputs, state, memory)
    assert all(torch.equal(one, other) for one, other in zip(arguments, copies, strict=True))
