"""The encoder step by step against PyTorch's own over packed sentences."""

import pytest
import torch
from support.all_pairs import all_pairs
from support.attention_cases import draw
from support.tiny_models import randomise

from nmt.components import CELLS
from nmt.fast import modules
from nmt.fast.modules import FASTER
from nmt.fast.products import products_in
from nmt.model.encoder import Bidirectional

E, HIDDEN, LENGTHS = 4, 3, (4, 8, 1, 6)


def make(layers, dropout=0.0, cell="gru"):
    rnn = CELLS[cell].bidirectional(E, HIDDEN, layers, dropout).double()
    randomise(rnn)
    return rnn


def fast(rnn):
    rnn.__class__ = FASTER[type(rnn)]
    return rnn


def assert_results(rnn, inputs, lengths, expected=None, tolerance=1e-12):
    """The values, and the gradients by inputs and parameters of an objective that padding is a part of, too."""
    inputs = inputs.clone().requires_grad_()
    values, final = rnn(inputs, torch.tensor(lengths))
    weights = torch.randn(values.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    objective = (weights * torch.cos(values)).sum() + (weights[:, 0] * final**2).sum()
    results = [values, final, *torch.autograd.grad(objective, [inputs, *rnn.parameters()])]
    torch.testing.assert_close(results, expected or results, rtol=tolerance, atol=tolerance, check_dtype=False)
    return [x.detach() for x in results]


@pytest.mark.parametrize(
    ("lengths", "layers", "wider", "cell"),
    all_pairs([LENGTHS, (6, 1, 8, 4), (1, 4, 6, 8), (5, 5), (1, 1, 1), (7,), (1,)], [1, 2, 3], [0, 2], ["gru", "lstm"]),
    ids=str,
)
def test_values_and_gradients_are_pytorchs(layers, lengths, wider, cell, monkeypatch):
    rnn, inputs = make(layers, cell=cell), draw(len(lengths), max(lengths) + wider, E)
    expected = assert_results(rnn, inputs, lengths)
    assert_results(fast(rnn), inputs, lengths, expected)
    with monkeypatch.context() as patch:  # each direction by PyTorch's own, as in a CUDA graph
        patch.setattr(modules, "is_fast", lambda _: False)
        patch.setattr(modules.FastBidirectional, "_uses_packed", lambda *_: False)
        assert_results(rnn, inputs, lengths, expected)
    assert_results(rnn.float(), inputs.float(), lengths, expected, 1e-5)


def test_dropout_is_between_layers_in_training_alone():
    """A rate of 1 leaves nothing of what the upper layer reads: its states are the same whatever the source."""
    lengths, inputs = torch.tensor(LENGTHS), draw(4, 8, E)
    rnn = fast(make(2, dropout=1.0)).train()
    for one, other in zip(rnn(inputs, lengths), rnn(draw(4, 8, E, seed=2), lengths), strict=True):
        assert torch.equal(one, other)
        assert one.any()
    assert torch.equal(rnn.eval()(inputs, lengths)[0], fast(make(2))(inputs, lengths)[0])


@pytest.mark.parametrize(
    ("onednn", "lengths", "by_hand"), [(False, [4, 4], False), (True, [4, 4], True), (True, [4, 1, 1], False)]
)
def test_without_gradients_the_faster_one_runs(onednn, lengths, by_hand, monkeypatch):
    """PyTorch's own where its products are the fastest, or where most is padding; never in training."""
    calls, run = [], Bidirectional.forward
    monkeypatch.setattr(Bidirectional, "forward", lambda *a: calls.append("PyTorch") or run(*a))
    monkeypatch.setattr(modules, "prefers_onednn", lambda: onednn)
    rnn, arguments = fast(make(1).float()), (torch.zeros(len(lengths), 4, E), torch.tensor(lengths))
    with torch.inference_mode():
        rnn(*arguments)
        assert bool(calls) is not by_hand
        calls.clear()
        with products_in("bf16"):
            rnn(*arguments)
    rnn(*arguments)
    assert not calls
