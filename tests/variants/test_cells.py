"""Cells that know all steps at once: sequences, the encoder's padding and reversal, first values, long sequences."""

import numpy as np
import pytest
import torch
from support import parameters
from support import tiny_models as tiny
from support.attention_cases import draw

from nmt.components import CELLS
from nmt.data.batching import pad
from nmt.model.cells import Cell, Gates
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS
from nmt.variants import linear
from nmt.variants.bidirectional import Bidirectional

SCANNED = [name for name, cell in CELLS.items() if cell.sequence is not Cell.sequence]
EACH = pytest.mark.parametrize("name", SCANNED)
N, H = 3, 16  # two heads of mLSTM


def made(name, steps, dtype=torch.float64, scale=1.0):
    """A cell with random parameters, the input's share of its gates for some steps, and a first state."""
    cell = CELLS[name](H).to(dtype)
    tiny.randomise(cell)
    generator = torch.Generator().manual_seed(1)
    gates = torch.randn(steps, N, CELLS[name].gates * H, generator=generator, dtype=dtype) * scale
    return cell, gates, cell.initial(*(draw(N, H, seed=seed).to(dtype) for seed in range(cell.states)))


def loop(cell, gates, state):
    outputs = []
    for inputs in gates:
        state = cell(inputs, *state)
        outputs.append(state[0])
    return torch.stack(outputs)


@pytest.mark.parametrize("scan", [linear.step_by_step, linear.doubled])
@pytest.mark.parametrize("steps", [1, 2, 7, 8, 150])
@EACH
def test_a_sequence_is_the_loop_over_its_steps(name, steps, scan, monkeypatch):
    monkeypatch.setattr(linear, "_states", scan)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        cell, gates, state = made(name, steps, dtype)
        expected = loop(cell, gates, state)
        torch.testing.assert_close(cell.sequence(gates, *state), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("scan", [linear.step_by_step, linear.doubled])
@EACH
def test_its_gradients_are_the_loops(name, scan, monkeypatch):
    monkeypatch.setattr(linear, "_states", scan)
    cell, gates, state = made(name, 9)
    inputs, factor = [x.requires_grad_() for x in (gates, *state)], draw(9, N, H, seed=4)
    inputs += list(cell.parameters())
    found, expected = (
        torch.autograd.grad((run(*arguments) * factor).sum(), inputs, allow_unused=True)
        for run, arguments in ((cell.sequence, (gates, *state)), (loop, (cell, gates, state)))
    )
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@EACH
def test_long_sequences_and_large_gates_stay_finite_and_remember(name):
    """Of 1000 steps in 32 bits, with gates up to 300: σ of them is 0 or 1 to the last bit."""
    cell, gates, state = made(name, 1000, torch.float32, scale=100.0)
    gates.requires_grad_()
    outputs = cell.sequence(gates, *state)
    (gradient,) = torch.autograd.grad(outputs.sum(), gates)
    assert outputs.isfinite().all()
    assert gradient.isfinite().all()
    torch.testing.assert_close(outputs, loop(cell, gates, state), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("layers", [1, 2])
@EACH
def test_the_encoder_reads_each_sentence_alone_in_both_directions(name, layers):
    """Whatever stands in the padding; backwards from each sentence's own last token."""
    rnn = CELLS[name].bidirectional(4, H, layers, 0.0).double()
    tiny.randomise(rnn)
    lengths, inputs = torch.tensor([4, 8, 1]), draw(3, 10, 4)
    values, final = rnn(inputs, lengths)
    other = torch.where(torch.arange(10)[:, None] < lengths[:, None, None], inputs, 1e6)
    assert torch.equal(rnn(other, lengths)[0], values)
    assert torch.equal(rnn(other, lengths)[1], final)
    for b, length in enumerate(lengths):
        expected, of_final = parameters.bidirectional(list(inputs[b, :length].numpy()), parameters.rnn_weights(rnn))
        np.testing.assert_allclose(values[b, :length].detach(), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(final[b].detach(), of_final, rtol=0, atol=1e-12)
        assert (values[b, length:] == 0).all()


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("variant", tiny.WIRINGS, ids=str)
@EACH
def test_each_wiring_computes_the_formulas(name, variant, layers):
    variant = tiny.Variant(variant.wiring, input_feeding=variant.input_feeding, other=name)
    model = tiny.tiny_model(variant, layers)
    formula, inputs = parameters.decoder_weights(model, variant), tiny.decoder_inputs()
    state, memory = tiny.encode(model)
    logits = model.decoder.logits(model.decoder(pad(inputs), state, memory)[0])
    for b, (source, tokens) in enumerate(zip(tiny.SOURCES, inputs, strict=True)):
        expected, _ = formula.decode(tokens, *parameters.encode_alone(model, [*source, EOS]))
        np.testing.assert_allclose(logits[b, : len(expected)].detach(), expected, rtol=0, atol=1e-11)


@EACH
def test_each_gates_first_weight_is_glorots(name):
    gates = Gates(CELLS[name], 128, 64)
    assert not gates.bias.any()
    for matrix in gates.weight.detach().chunk(CELLS[name].gates):
        bound = (6 / (64 + 128)) ** 0.5
        assert 0.9 * bound < matrix.abs().max().item() <= bound
        assert matrix.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


def test_a_cell_whose_sequence_loops_is_not_exported(monkeypatch):
    class Looping(CELLS["mingru"]):
        name, sequence = "looping", Cell.sequence

    rnn, source = Bidirectional(Looping, 2, H, 1, 0.0), (torch.zeros(1, 3, 2), torch.tensor([3]))
    assert rnn(*source)[0].shape == (1, 3, 2 * H)
    monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
    with pytest.raises(UserError, match="the cell looping cannot be exported"):
        rnn(*source)
