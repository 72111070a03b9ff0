"""What sets the wirings apart: which state asks for a context, and what is fed back."""

import pytest
import torch
from support.decoding import TOLERANCE, random_state, step
from support.tiny_models import EMBEDDING, VARIANTS, crossed, encode, parametrised, tiny_model

LAYERED = [(variant, layers) for variant, layers in crossed([1, 2]) if not variant.other]


def after_each_word(variant, layers=1):
    """What one step from the same state gives after each of two words: (readout, state, weights) twice."""
    model = tiny_model(variant, layers)
    state, memory = encode(model)
    state = random_state(state)
    return [step(model, [y] * 3, state, memory) for y in (4, 7)]


def context_of(decoder, readout):
    """A Bahdanau readout is [s; c; E y]."""
    hidden = decoder.recurrent[0].weight.shape[1]
    return readout[:, hidden:-EMBEDDING]


@pytest.mark.parametrize(("variant", "layers"), [c for c in LAYERED if c[0].wiring == "bahdanau"], ids=str)
def test_bahdanau_asks_with_the_previous_state(variant, layers):
    (readout, state, weights), (other_readout, other_state, other_weights) = after_each_word(variant, layers)
    assert torch.equal(weights, other_weights)
    rnn = tiny_model(variant, layers).decoder.rnn
    assert torch.equal(context_of(rnn, readout), context_of(rnn, other_readout))
    for one, other in zip(state.hidden[:layers], other_state.hidden[:layers], strict=True):
        assert not torch.isclose(one, other).all(1).any()


@pytest.mark.parametrize(  # hard: the largest weight often stays the largest
    ("variant", "layers"), [c for c in LAYERED if c[0].wiring == "luong" and c[0].extra != "hard"], ids=str
)
def test_luong_asks_with_the_new_state(variant, layers):
    (_, _, weights), (_, _, other_weights) = after_each_word(variant, layers)
    longer = slice(2)  # the sentence of one position has no choice, but under local-p
    if variant.score == "linear" and variant.scope != "local_p":  # a softmax to which no query makes a difference
        torch.testing.assert_close(weights, other_weights, **TOLERANCE)
    else:
        assert not torch.isclose(weights[longer], other_weights[longer]).all(1).any()


@pytest.mark.parametrize("variant", **parametrised([v for v in VARIANTS if v.wiring == "luong" and v.other != "lstm"]))
def test_only_input_feeding_feeds_the_attentional_vector_back(variant):
    model = tiny_model(variant)
    state, memory = encode(model)
    last = [4, 8, 6]
    first, after_first, _ = step(model, last, state, memory)
    _, expected, _ = step(model, last, after_first, memory)
    model.decoder.combine.weight.data *= -1  # turns h̃ round, and touches nothing else
    turned, after_turned, _ = step(model, last, state, memory)
    torch.testing.assert_close(turned, -first, **TOLERANCE)
    torch.testing.assert_close(after_turned.hidden[0], after_first.hidden[0], **TOLERANCE)
    _, other, _ = step(model, last, after_turned, memory)
    assert torch.isclose(other.hidden[0], expected.hidden[0]).all() == (not variant.input_feeding)
    if variant.input_feeding:
        torch.testing.assert_close(after_first.attentional, first, **TOLERANCE)
