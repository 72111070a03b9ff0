"""Each wiring's step and whole pass against plain NumPy, and the shortcuts (all T at once, K rows a sentence)."""

import numpy as np
import pytest
import torch
from formulas import DecoderState, gru_layers
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
COVERING = [v for v in VARIANTS if v.extra == "coverage"]
EVERY_WIRING = pytest.mark.parametrize("variant", **parametrised(WIRINGS))


def draw(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def random_state(model, state):
    """As if some steps had been taken: the states of the layers, t, coverage if there is any, h̃ if it is fed."""
    layers = model.decoder.layers
    hidden, (t, *rest) = state[:layers], state[layers:]
    rest = [draw(*tensor.shape, seed=20 + i) for i, tensor in enumerate(rest)]
    if model.decoder.attention.coverage:
        rest[0] = rest[0].abs()
    return (
        *(torch.tanh(draw(*tensor.shape, seed=3 + i)) for i, tensor in enumerate(hidden)),
        torch.arange(len(t)) % 4 + 2,
        *rest,
    )


def state_of_sentence(model, state, b, length):
    """Row `b` of a state as the formulas want it; `length` is the number of the sentence's source positions."""
    layers = model.decoder.layers
    hidden, (t, *rest) = state[:layers], state[layers:]
    coverage = rest.pop(0)[b, :length].detach().numpy() if model.decoder.attention.coverage else None
    fed = rest[0][b].detach().numpy() if rest else np.zeros(hidden[0].shape[1])
    return DecoderState([tensor[b].detach().numpy() for tensor in hidden], fed, t[b].item(), coverage)


def assert_same_state(found, expected, **tolerance):
    assert found.t == expected.t
    for one, other in zip([*found.hidden, found.fed], [*expected.hidden, expected.fed], strict=True):
        np.testing.assert_allclose(one, other, **tolerance)
    assert (found.coverage is None) == (expected.coverage is None)
    if found.coverage is not None:
        np.testing.assert_allclose(found.coverage, expected.coverage, **tolerance)


def run(model, state, memory, inputs, use_reference=None):
    """A whole pass: readouts, and the weights of all positions."""
    readouts, alignment = model.decoder(inputs, state, memory, use_reference)
    return readouts, alignment.dense(memory.mask.shape[1])


def step(model, tokens, state, memory):
    """One step: readout, state, and the weights of all positions."""
    readout, state, alignment = model.decoder.step(model.decoder.embed(torch.as_tensor(tokens)), state, memory)
    return readout, state, alignment.dense(memory.mask.shape[1])


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
    state = random_state(model, state)
    last = [4, 8, 6]
    readout, new, weights = step(model, last, state, memory)
    logits = model.decoder.logits(readout)
    for b, source in enumerate(SOURCES):
        values, final = encode_alone(model, [*source, EOS])
        before, after = (state_of_sentence(model, s, b, len(values)) for s in (state, new))
        expected_logits, expected_weights, expected = formula.step(last[b], before, values, final)
        if variant.wiring == "luong" and not variant.input_feeding:
            expected.fed = after.fed  # which nobody reads
        positions = len(expected_weights)
        np.testing.assert_allclose(logits[b].detach(), expected_logits, **TOLERANCE)
        np.testing.assert_allclose(weights[b, :positions].detach(), expected_weights, **TOLERANCE)
        assert (weights[b, positions:] == 0).all()
        assert_same_state(after, expected, **TOLERANCE)
    assert len(new) == layers + 1 + (variant.extra == "coverage") + variant.input_feeding


@EVERY
@pytest.mark.parametrize(("layers", "window"), [(1, WINDOW), (2, 1), (1, 50)])
def test_a_whole_pass_is_that_of_the_formulas(variant, layers, window):
    model = tiny_model(variant, layers, window=window)
    formula = decoder_weights(model, variant)
    state, memory = encode(model)
    inputs = decoder_inputs()
    readouts, weights = run(model, state, memory, pad(inputs))
    logits = model.decoder.logits(readouts)
    assert logits.shape == (3, 5, TARGET_TYPES)
    assert weights.shape == (3, 5, 1 if variant.wiring == "none" else 8)
    for b, (source, tokens) in enumerate(zip(SOURCES, inputs, strict=True)):
        expected_logits, expected_weights = formula.decode(tokens, *encode_alone(model, [*source, EOS]))
        steps, positions = expected_weights.shape
        np.testing.assert_allclose(logits[b, :steps].detach(), expected_logits, rtol=0, atol=1e-11)
        np.testing.assert_allclose(weights[b, :steps, :positions].detach(), expected_weights, rtol=0, atol=1e-11)
        assert (weights[b, :, positions:] == 0).all()


@pytest.mark.parametrize("variant", **parametrised([*WIRINGS, *COVERING]))
@pytest.mark.parametrize("layers", [1, 3])
def test_the_initial_state_is_the_bridge_of_the_final_states(variant, layers):
    model = tiny_model(variant, layers)
    state, _ = encode(model)
    for b, source in enumerate(SOURCES):
        values, final = encode_alone(model, [*source, EOS])
        expected = decoder_weights(model, variant).initial(values, final)
        assert_same_state(state_of_sentence(model, state, b, len(values)), expected, **TOLERANCE)


# Wirings


def after_each_word(variant, layers=1):
    """What one step from the same state gives after each of two words: (readout, state, weights) twice."""
    model = tiny_model(variant, layers)
    state, memory = encode(model)
    state = random_state(model, state)
    return [step(model, [y] * 3, state, memory) for y in (4, 7)]


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
    for one, other in zip(state[:layers], other_state[:layers], strict=True):
        assert not torch.isclose(one, other).all(1).any()


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("variant", **parametrised([*LUONG, *LUONG_FEEDING]))
def test_luong_asks_with_the_new_state(variant, layers):
    (_, _, weights), (_, _, other_weights) = after_each_word(variant, layers)
    longer = slice(2)  # the sentence of one position has no choice, but under local-p
    if variant.score == "linear" and variant.scope != "local_p":  # a softmax to which no query makes a difference
        torch.testing.assert_close(weights, other_weights, **TOLERANCE)
    elif variant.extra != "hard":  # whose largest weight often stays the largest
        assert not torch.isclose(weights[longer], other_weights[longer]).all(1).any()


@pytest.mark.parametrize("variant", **parametrised([v for v in VARIANTS if v.wiring != "none"]))
def test_the_top_layers_state_is_the_query(variant):
    model = tiny_model(variant, layers=2)
    state, memory = encode(model)
    state = random_state(model, state)
    _, new, weights = step(model, [4, 8, 6], state, memory)
    query = state[1] if variant.wiring == "bahdanau" else new[1]
    _, expected, _ = model.decoder.attend(query, memory, state[2 : 4 if variant.extra == "coverage" else 3])
    torch.testing.assert_close(weights, expected.dense(memory.mask.shape[1]), **TOLERANCE)


@pytest.mark.parametrize("variant", **parametrised([*LUONG, *LUONG_FEEDING]))
def test_only_input_feeding_feeds_the_attentional_vector_back(variant):
    model = tiny_model(variant)
    state, memory = encode(model)
    last = [4, 8, 6]
    first, after_first, _ = step(model, last, state, memory)
    _, expected, _ = step(model, last, after_first, memory)
    model.decoder.combine.weight.data *= -1  # turns h̃ round, and touches nothing else
    turned, after_turned, _ = step(model, last, state, memory)
    torch.testing.assert_close(turned, -first, **TOLERANCE)
    torch.testing.assert_close(after_turned[0], after_first[0], **TOLERANCE)
    _, other, _ = step(model, last, after_turned, memory)
    assert torch.isclose(other[0], expected[0]).all() == (not variant.input_feeding)
    if variant.input_feeding:
        torch.testing.assert_close(after_first[-1], first, **TOLERANCE)


# Shortcuts


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("variant", **parametrised(LUONG))
def test_all_of_the_target_at_once_is_the_loop_over_it(variant, layers):
    model = tiny_model(variant, layers)
    state, memory = encode(model)
    inputs = pad(decoder_inputs())
    readouts, weights = run(model, state, memory, inputs)
    looped, alignment = Decoder.forward(model.decoder, inputs, state, memory)
    torch.testing.assert_close(readouts, looped, **TOLERANCE)
    torch.testing.assert_close(weights, alignment.dense(memory.mask.shape[1]), **TOLERANCE)


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


@pytest.mark.parametrize("variant", **parametrised([*WIRINGS, *COVERING]))
def test_the_gradient_of_a_whole_pass_is_that_of_finite_differences(variant):
    """It goes from step to step through the states, h̃ and the coverage."""
    model, inputs, factor = tiny_model(variant, window=1), pad(decoder_inputs()), draw(3, 5, TARGET_TYPES)

    def objective():
        readouts, _ = model.decoder(inputs, *encode(model))
        return (model.decoder.logits(readouts) * factor).sum()

    names = [name for name, _ in model.named_parameters() if "attention" in name or "recurrent" in name]
    parameters = dict(model.named_parameters())
    gradients = torch.autograd.grad(objective(), [parameters[name] for name in names])
    for name, gradient in zip(names, gradients, strict=True):
        flat = parameters[name].detach().view(-1)
        for i in range(0, len(flat), 1 + len(flat) // 6):
            old, step = flat[i].item(), 1e-6
            values = []
            for moved in (old + step, old - step):
                flat[i] = moved
                with torch.no_grad():
                    values.append(objective().item())
            flat[i] = old
            difference = (values[0] - values[1]) / (2 * step)
            assert gradient.flatten()[i].item() == pytest.approx(difference, rel=1e-5, abs=1e-6), name


@EVERY
@pytest.mark.parametrize("layers", [1, 2])
def test_hypotheses_of_one_sentence_share_its_memory(variant, layers):
    model = tiny_model(variant, layers)
    beam = 4
    state, memory = encode(model)
    rows = torch.arange(len(SOURCES)).repeat_interleave(beam)
    state = random_state(model, select(state, rows))
    last = torch.arange(len(rows)) % TARGET_TYPES
    shared = step(model, last, state, memory)
    repeated = step(model, last, state, select(memory, rows))
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
    forced = run(model, state, memory, inputs)
    for one, other in zip(run(model, state, memory, inputs, choose(1)), forced, strict=True):
        torch.testing.assert_close(one, other, **TOLERANCE)


@EVERY
@pytest.mark.parametrize("use_reference", [choose(0), choose(0.3), choose(0.7)], ids=["never", "seldom", "often"])
def test_elsewhere_the_model_reads_its_own_best_token(variant, use_reference):
    model = tiny_model(variant)
    decoder, inputs = model.decoder, pad(decoder_inputs())
    state, memory = encode(model)
    readouts, weights = run(model, state, memory, inputs, use_reference)
    for b, source in enumerate(SOURCES):
        formula, (values, final) = decoder_weights(model, variant), encode_alone(model, [*source, EOS])
        carried, own = formula.initial(values, final), BOS
        for t in range(5):
            last = int(inputs[b, t]) if use_reference[b, t] and t > 0 else own
            logits, expected, carried = formula.step(last, carried, values, final)
            own = int(np.argmax(logits))
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
    first = run(model, state, memory, inputs)
    decoder(inputs, state, memory, choose(0.5))
    decoder.logits(step(model, inputs[:, 0], state, memory)[0])
    assert everything_in(model) == before
    if not training:
        for one, other in zip(first, run(model, *encode(model), inputs), strict=True):
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
