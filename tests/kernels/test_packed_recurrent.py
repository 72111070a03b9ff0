"""A bidirectional GRU or LSTM in 8 bits against its equations, with factors that are rounded one by one."""

import copy

import pytest
import torch
from support.attention_cases import draw
from torch import nn

from nmt.kernels import BidirectionalGRU, BidirectionalLSTM, private
from nmt.kernels.bidirectional import sequence_rnn
from nmt.kernels.packed import packed
from nmt.kernels.packed_recurrent import PackedBidirectional
from nmt.kernels.switch import use

E, H = 12, 8
LENGTHS = (7, 3, 6, 1)
KINDS = pytest.mark.parametrize("kind", [BidirectionalGRU, BidirectionalLSTM])
EVERY_LAYERS = pytest.mark.parametrize("layers", [1, 2])


def made(kind, layers):
    torch.manual_seed(3)
    return nn.Sequential(kind(E, H, layers, 0.0)).eval()


def rounded(rows, scales=None):
    """Rows whose numbers are multiples of 1/127 of the largest in each, or of scales."""
    scales = rows.abs().amax(dim=-1, keepdim=True) / 127 if scales is None else scales
    return (rows / scales).round() * scales


def with_rounded_weights(rnn):
    other = copy.deepcopy(rnn).double()
    with torch.no_grad():
        for (name, parameter), own in zip(other.named_parameters(), rnn.parameters(), strict=True):
            if name.startswith("weight"):
                parameter.copy_(rounded(own))
    return other


def one_way(rnn, layer, direction, sentence):
    """The states of a sentence's positions, step by step: what enters a product is rounded."""
    weight_ih, weight_hh, bias_ih, bias_hh = (
        getattr(rnn, f"{name}_l{layer}{direction}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    states, hidden, cell = [], torch.zeros(H).double(), torch.zeros(H).double()
    for read in sentence.flip(0) if direction else sentence:
        inputs = weight_ih @ rounded(read, 1 / 127 if layer else None) + bias_ih
        recurrent = weight_hh @ rounded(hidden, 1 / 127) + bias_hh
        if isinstance(rnn, nn.LSTM):
            let_in, forget, candidate, output = (inputs + recurrent).chunk(4)
            cell = forget.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
            hidden = output.sigmoid() * cell.tanh()
        else:
            (r, z, n), (of_r, of_z, of_n) = inputs.chunk(3), recurrent.chunk(3)
            update = (z + of_z).sigmoid()
            hidden = (1 - update) * (n + (r + of_r).sigmoid() * of_n).tanh() + update * hidden
        states.append(hidden)
    states = torch.stack(states)
    return states.flip(0) if direction else states


@KINDS
@EVERY_LAYERS
@pytest.mark.parametrize("kernels", ["fast", "plain"])
def test_states_are_those_of_rounded_factors(kind, layers, kernels):
    module = made(kind, layers)
    inputs = draw(len(LENGTHS), max(LENGTHS), E).float()
    reference = with_rounded_weights(module[0])
    with torch.inference_mode(), use(kernels):
        values, final = packed(module, "int8")[0](inputs, torch.tensor(LENGTHS))
        for i, length in enumerate(LENGTHS):
            states = inputs[i, :length].double()
            for layer in range(layers):
                states = torch.cat([one_way(reference, layer, way, states) for way in ("", "_reverse")], dim=1)
            # A state next to the middle between two multiples may be rounded to the other one.
            assert (values[i, :length].double() - states).abs().max() < 5e-3
            assert (values[i, :length].double() - states).abs().median() < 1e-4
            torch.testing.assert_close(final[i], torch.cat([values[i, length - 1, :H], values[i, 0, H:]]))
            assert not values[i, length:].any()


@KINDS
@EVERY_LAYERS
def test_states_are_near_those_of_float32_and_a_sentences_own(kind, layers):
    module = made(kind, layers)
    inputs, lengths = draw(len(LENGTHS), max(LENGTHS), E).float(), torch.tensor(LENGTHS)
    with torch.inference_mode():
        rnn = packed(module, "int8")[0]
        values, final = rnn(inputs, lengths)
        expected, expected_final = sequence_rnn(module[0], inputs, lengths)
        torch.testing.assert_close(values, expected, rtol=0, atol=0.05)
        torch.testing.assert_close(final, expected_final, rtol=0, atol=0.05)
        assert not torch.equal(values, expected)
        for i, length in enumerate(LENGTHS):
            alone, final_alone = rnn(inputs[i : i + 1, :length], lengths[i : i + 1])
            torch.testing.assert_close(alone[0], values[i, :length], rtol=0, atol=1e-6)
            torch.testing.assert_close(final_alone[0], final[i], rtol=0, atol=1e-6)


@KINDS
def test_8_bits_stay_8_bits_with_other_kernels(kind):
    module, inputs, lengths = made(kind, 2), draw(len(LENGTHS), max(LENGTHS), E).float(), torch.tensor(LENGTHS)
    with torch.inference_mode():
        first = packed(module, "int8")
        expected = first[0](inputs, lengths)
        with use("plain"):
            second = packed(first, "int8")
            assert second is not first or not private.has_byte_product()  # then the plain form is the only one
            for one, other in zip(second[0](inputs, lengths), expected, strict=True):
                torch.testing.assert_close(one, other, rtol=0, atol=5e-3)
        for one, other in zip(packed(second, "int8")[0](inputs, lengths), expected, strict=True):
            assert torch.equal(one, other)


@KINDS
def test_only_8_bits_are_packed_and_other_precisions_are_found_again(kind):
    module = made(kind, 2)
    in_bytes = packed(module, "int8")
    assert isinstance(in_bytes[0], PackedBidirectional)
    assert isinstance(packed(in_bytes, "int8")[0], PackedBidirectional)
    for precision in ("float32", "bf16"):
        for before in (module, in_bytes):
            other = packed(before, precision)[0]
            assert type(other) is kind
            assert all(one is two for one, two in zip(other.parameters(), module.parameters(), strict=True))
