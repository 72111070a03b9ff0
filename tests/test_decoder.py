"""Each wiring's step and whole pass against plain NumPy, and the shortcuts (all T at once, K rows a sentence)."""

import numpy as np
import pytest
import torch
from reference import (
    BAHDANAU,
    EMBEDDING,
    LUONG,
    LUONG_FEEDING,
    SOURCES,
    TARGET_TYPES,
    TARGETS,
    VARIANTS,
    WINDOW,
    WIRINGS,
    Variant,
    decoder_inputs,
    decoder_weights,
    encode,
    encode_alone,
    gru_layers,
    gru_weights,
    parametrised,
    randomise,
    tiny_model,
)
from torch import nn

from nmt.data.batching import pad
from nmt.data.vocabulary import BOS, EOS
from nmt.model.decoder import Decoder, GRUStack, gru_update
from nmt.search import select

TOLERANCE = {"rtol": 0, "atol": 1e-12}
EVERY = pytest.mark.parametrize("variant", **parametrised(VARIANTS))
EVERY_WIRING = pytest.mark.parametrize("variant", **parametrised(WIRINGS))


def draw(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def random_state(state, seed=3):
    return tuple(torch.tanh(draw(*tensor.shape, seed=seed + i)) for i, tensor in enumerate(state))


# GRU


def test_the_update_is_that_of_a_gru():
    n, inputs, hidden = 4, 3, 5
    rnn = nn.GRU(inputs, hidden, batch_first=True).double()
    randomise(rnn)
    x, h = draw(n, inputs), draw(n, hidden, seed=2)
    gates = x @ rnn.weight_ih_l0.T + rnn.bias_ih_l0, h @ rnn.weight_hh_l0.T + rnn.bias_hh_l0
    expected, _ = rnn(x.unsqueeze(1), h.unsqueeze(0))
    torch.testing.assert_close(gru_update(*gates, h), expected[:, 0], **TOLERANCE)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_stack_is_torchs_gru_taken_step_by_step(layers):
    n, steps, inputs, hidden = 4, 6, 3, 5
    rnn = nn.GRU(inputs, hidden, layers, batch_first=True).double()
    stack = GRUStack(hidden, layers, dropout=0.5).double().eval()
    randomise(rnn)
    for layer in range(layers):
        stack.recurrent[layer].weight.data = getattr(rnn, f"weight_hh_l{layer}").data
        stack.recurrent[layer].bias.data = getattr(rnn, f"bias_hh_l{layer}").data
        if layer:
            stack.upper[layer - 1].weight.data = getattr(rnn, f"weight_ih_l{layer}").data
            stack.upper[layer - 1].bias.data = getattr(rnn, f"bias_ih_l{layer}").data
    x, first = draw(n, steps, inputs), draw(layers, n, hidden, seed=2)
    outputs, last = rnn(x, first)
    state = first.unbind(0)
    for t in range(steps):
        state = stack(x[:, t] @ rnn.weight_ih_l0.T + rnn.bias_ih_l0, state)
        torch.testing.assert_close(state[-1], outputs[:, t], **TOLERANCE)
    torch.testing.assert_close(torch.stack(state), last, **TOLERANCE)


def test_the_reference_is_torchs_gru_too():
    layers, steps, inputs, hidden = 2, 4, 3, 5
    rnn = nn.GRU(inputs, hidden, layers, bidirectional=True).double()
    randomise(rnn)
    x = draw(steps, inputs)
    forward = nn.GRU(inputs, hidden).double()
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(forward, f"{kind}_l0").data = getattr(rnn, f"{kind}_l0").data
    expected, _ = forward(x)
    states = [np.zeros(hidden)]
    for t in range(steps):
        states = gru_layers(x[t].numpy(), states, [gru_weights(rnn)[0][0]])
        np.testing.assert_allclose(states[0], expected[t].detach(), **TOLERANCE)


# Against the formulas


@EVERY
@pytest.mark.parametrize("layers", [1, 2])
def test_one_step_is_that_of_the_formulas(variant, layers):
    model = tiny_model(variant, layers)
    formula = decoder_weights(model, variant)
    state, memory = encode(model)
    state = random_state(state)
    last = torch.tensor([4, 8, 6])
    decoder = model.decoder
    readout, new, weights = decoder.step(decoder.embed(last), state, memory)
    logits = decoder.logits(readout)
    for b, source in enumerate(SOURCES):
        values, final = encode_alone(model, [*source, EOS])
        hidden, fed = [tensor[b].numpy() for tensor in state[:layers]], state[-1][b].numpy()
        expected = formula.step(last[b], hidden, fed, values, final)
        np.testing.assert_allclose(logits[b].detach(), expected[0], **TOLERANCE)
        np.testing.assert_allclose(weights[b, : len(expected[1])].detach(), expected[1], **TOLERANCE)
        assert (weights[b, len(expected[1]) :] == 0).all()
        for one, other in zip(new[:layers], expected[2], strict=True):
            np.testing.assert_allclose(one[b].detach(), other, **TOLERANCE)
        if variant.input_feeding:
            np.testing.assert_allclose(new[layers][b].detach(), expected[3], **TOLERANCE)
    assert len(new) == layers + variant.input_feeding


@EVERY
@pytest.mark.parametrize(("layers", "window"), [(1, WINDOW), (2, 1), (1, 50)])
def test_a_whole_pass_is_that_of_the_formulas(variant, layers, window):
    model = tiny_model(variant, layers, window=window)
    formula = decoder_weights(model, variant, window)
    state, memory = encode(model)
    inputs = decoder_inputs()
    readouts, weights = model.decoder(pad(inputs), state, memory)
    logits = model.decoder.logits(readouts)
    assert logits.shape == (3, 5, TARGET_TYPES)
    assert weights.shape == (3, 5, 1 if variant.wiring == "none" else 8)
    for b, (source, tokens) in enumerate(zip(SOURCES, inputs, strict=True)):
        expected_logits, expected_weights = formula.decode(tokens, *encode_alone(model, [*source, EOS]))
        steps, positions = expected_weights.shape
        np.testing.assert_allclose(logits[b, :steps].detach(), expected_logits, rtol=0, atol=1e-11)
        np.testing.assert_allclose(weights[b, :steps, :positions].detach(), expected_weights, rtol=0, atol=1e-11)
        assert (weights[b, :, positions:] == 0).all()


@EVERY_WIRING
@pytest.mark.parametrize("layers", [1, 3])
def test_the_initial_state_is_the_bridge_of_the_final_states(variant, layers):
    model = tiny_model(variant, layers)
    state, _ = encode(model)
    assert len(state) == layers + variant.input_feeding
    for b, source in enumerate(SOURCES):
        expected, fed = decoder_weights(model, variant).initial(encode_alone(model, [*source, EOS])[1])
        for one, other in zip(state, [*expected, fed][: len(state)], strict=True):
            np.testing.assert_allclose(one[b].detach(), other, **TOLERANCE)


# Wirings


def after_each_word(variant, layers=1):
    """What one step from the same state gives after each of two words: (readout, state, weights) twice."""
    model = tiny_model(variant, layers)
    state, memory = encode(model)
    state = random_state(state)
    return [model.decoder.step(model.decoder.embed(torch.tensor([y] * 3)), state, memory) for y in (4, 7)]


def context_of(decoder, readout):
    """A Bahdanau readout is [s; c; E y]."""
    hidden = decoder.recurrent[0].in_features
    return readout[:, hidden:-EMBEDDING]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("variant", **parametrised(BAHDANAU))
def test_bahdanau_asks_with_the_previous_state(variant, layers):
    (readout, state, weights), (other_readout, other_state, other_weights) = after_each_word(variant, layers)
    assert torch.equal(weights, other_weights)
    rnn = tiny_model(variant, layers).decoder.rnn
    assert torch.equal(context_of(rnn, readout), context_of(rnn, other_readout))
    for one, other in zip(state, other_state, strict=True):
        assert not torch.isclose(one, other).all(1).any()


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("variant", **parametrised([*LUONG, *LUONG_FEEDING]))
def test_luong_asks_with_the_new_state(variant, layers):
    (_, _, weights), (_, _, other_weights) = after_each_word(variant, layers)
    longer = slice(2)  # the sentence of one position has no choice, but under local-p
    assert not torch.isclose(weights[longer], other_weights[longer]).all(1).any()


@pytest.mark.parametrize("variant", **parametrised([v for v in VARIANTS if v.wiring != "none"]))
def test_the_top_layers_state_is_the_query(variant):
    model = tiny_model(variant, layers=2)
    state, memory = encode(model)
    bottom, top, *fed = random_state(state)
    _, new, weights = model.decoder.step(model.decoder.embed(torch.tensor([4, 8, 6])), (bottom, top, *fed), memory)
    query = top if variant.wiring == "bahdanau" else new[1]
    _, expected = model.decoder.attend(query, memory)
    torch.testing.assert_close(weights, expected, **TOLERANCE)


@pytest.mark.parametrize("variant", **parametrised([*LUONG, *LUONG_FEEDING]))
def test_only_input_feeding_feeds_the_attentional_vector_back(variant):
    model = tiny_model(variant)
    state, memory = encode(model)
    decoder, inputs = model.decoder, model.decoder.embed(torch.tensor([4, 8, 6]))
    first, after_first, _ = decoder.step(inputs, state, memory)
    _, expected, _ = decoder.step(inputs, after_first, memory)
    decoder.combine.weight.data *= -1  # turns h̃ round, and touches nothing else
    turned, after_turned, _ = decoder.step(inputs, state, memory)
    torch.testing.assert_close(turned, -first, **TOLERANCE)
    torch.testing.assert_close(after_turned[0], after_first[0], **TOLERANCE)
    _, other, _ = decoder.step(inputs, after_turned, memory)
    assert torch.isclose(other[0], expected[0]).all() == (not variant.input_feeding)
    assert len(state) == 1 + variant.input_feeding
    if variant.input_feeding:
        torch.testing.assert_close(after_first[1], first, **TOLERANCE)


# Shortcuts


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("variant", **parametrised(LUONG))
def test_all_of_the_target_at_once_is_the_loop_over_it(variant, layers):
    model = tiny_model(variant, layers)
    state, memory = encode(model)
    inputs = pad(decoder_inputs())
    at_once = model.decoder(inputs, state, memory)
    for one, other in zip(at_once, Decoder.forward(model.decoder, inputs, state, memory), strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)


@pytest.mark.parametrize("variant", **parametrised(LUONG))
def test_all_of_the_target_at_once_has_the_gradient_of_the_loop(variant):
    model = tiny_model(variant)
    inputs, factor = pad(decoder_inputs()), draw(3, 5, TARGET_TYPES)
    gradients = []
    for forward in (type(model.decoder).forward, Decoder.forward):
        state, memory = encode(model)
        readouts, _ = forward(model.decoder, inputs, state, memory)
        loss = (model.decoder.logits(readouts) * factor).sum()
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@EVERY
@pytest.mark.parametrize("layers", [1, 2])
def test_hypotheses_of_one_sentence_share_its_memory(variant, layers):
    model = tiny_model(variant, layers)
    beam = 4
    state, memory = encode(model)
    rows = torch.arange(len(SOURCES)).repeat_interleave(beam)
    state = random_state(select(state, rows))
    inputs = model.decoder.embed(torch.arange(len(rows)) % TARGET_TYPES)
    shared = model.decoder.step(inputs, state, memory)
    repeated = model.decoder.step(inputs, state, select(memory, rows))
    torch.testing.assert_close(shared[0], repeated[0], **TOLERANCE)
    torch.testing.assert_close(shared[2], repeated[2], **TOLERANCE)
    for one, other in zip(shared[1], repeated[1], strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)


# Scheduled sampling


def choose(share):
    return torch.rand(3, 5, generator=torch.Generator().manual_seed(1)) < share


@EVERY
def test_reading_the_reference_everywhere_is_teacher_forcing(variant):
    model = tiny_model(variant)
    state, memory = encode(model)
    inputs = pad(decoder_inputs())
    forced = model.decoder(inputs, state, memory)
    for one, other in zip(model.decoder(inputs, state, memory, choose(1)), forced, strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)


@EVERY
@pytest.mark.parametrize("use_reference", [choose(0), choose(0.3), choose(0.7)], ids=["never", "seldom", "often"])
def test_elsewhere_the_model_reads_its_own_best_token(variant, use_reference):
    model = tiny_model(variant)
    decoder, inputs = model.decoder, pad(decoder_inputs())
    state, memory = encode(model)
    readouts, weights = decoder(inputs, state, memory, use_reference)
    for b, source in enumerate(SOURCES):
        formula, (values, final) = decoder_weights(model, variant), encode_alone(model, [*source, EOS])
        states, fed = formula.initial(final)
        for t in range(5):
            own = BOS if t == 0 else int(np.argmax(logits))
            last = int(inputs[b, t]) if use_reference[b, t] else own
            logits, expected, states, fed = formula.step(last, states, fed, values, final)
            np.testing.assert_allclose(decoder.logits(readouts[b, t]).detach(), logits, rtol=0, atol=1e-11)
            np.testing.assert_allclose(weights[b, t, : len(expected)].detach(), expected, rtol=0, atol=1e-11)


@EVERY_WIRING
def test_the_first_token_read_is_always_bos(variant):
    model = tiny_model(variant)
    state, memory = encode(model)
    inputs = pad(decoder_inputs())
    first, _ = model.decoder(inputs[:, :1], state, memory)
    readouts, _ = model.decoder(inputs, state, memory, choose(0))
    torch.testing.assert_close(readouts[:, :1], first, **TOLERANCE)
    inputs[:, 1:] = 5
    other, _ = model.decoder(inputs, state, memory, choose(0))
    assert torch.equal(other, readouts)  # and nothing else of the reference


# Modules hold parameters only


def everything_in(model):
    """Each module's attributes by identity, and what its containers hold."""
    held = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            items = list(value.values() if isinstance(value, dict) else value) if isinstance(value, dict | list) else []
            held[name, key] = (id(value), [id(item) for item in items])
    return held


@EVERY
@pytest.mark.parametrize("training", [False, True])
def test_running_a_model_leaves_nothing_in_it(variant, training):
    model = tiny_model(variant, layers=2).train(training)
    before = everything_in(model)
    state, memory = encode(model)
    inputs = pad(decoder_inputs())
    decoder = model.decoder
    first = decoder(inputs, state, memory)
    decoder(inputs, state, memory, choose(0.5))
    decoder.logits(decoder.step(decoder.embed(inputs[:, 0]), state, memory)[0])
    assert everything_in(model) == before
    if not training:
        for one, other in zip(first, decoder(inputs, *encode(model)), strict=True):
            assert torch.equal(one, other)


@EVERY
def test_a_step_does_not_change_what_it_is_given(variant):
    model = tiny_model(variant)
    state, memory = encode(model)
    copies = [tensor.clone() for tensor in (*state, *memory)]
    inputs = model.decoder.embed(torch.tensor([4, 8, 6]))
    embedded = inputs.clone()
    model.decoder.step(inputs, state, memory)
    assert torch.equal(inputs, embedded)
    assert all(torch.equal(one, other) for one, other in zip((*state, *memory), copies, strict=True))


def test_the_targets_make_all_sizes_different():
    shape = pad(decoder_inputs(TARGETS)).shape
    model = tiny_model(Variant("bahdanau"))
    sizes = [*shape, encode(model)[1].values.shape[1], TARGET_TYPES, EMBEDDING, model.encoder.memory_size]
    assert len(set(sizes)) == len(sizes)
