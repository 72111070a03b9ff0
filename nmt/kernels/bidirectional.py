"""A bidirectional GRU or LSTM over padded sentences.

The fast form runs `gru_sequence` or `lstm_sequence`, the plain twin PyTorch's own over packed sentences. Without a
gradient to be found, the twin is often the faster one, except in 8 bits (`nmt.kernels.packed_recurrent`). A third form
is for a GPU that records what it does: PyTorch's own in each direction, over padded sentences.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt.kernels.dropout import dropout
from nmt.kernels.gru import gru_sequence
from nmt.kernels.initial import GATES, LSTM_GATES, forgetting_nothing, glorot, orthogonal, zero
from nmt.kernels.linear import linear
from nmt.kernels.lstm import lstm_sequence
from nmt.kernels.precision import in_bf16
from nmt.kernels.processor import fastest_library, this_processor
from nmt.kernels.switch import fast

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # of a layer and direction, in PyTorch's order
DIRECTIONS = ("", "_reverse")  # what their names end with


class BidirectionalGRU(nn.GRU):
    """`torch.nn.GRU` in both directions. Its input weights begin as Glorot's, its recurrent ones orthogonal, biases 0.

    `dropout` is the rate between layers.
    """

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        between = dropout if layers > 1 else 0.0
        super().__init__(inputs, hidden, layers, batch_first=True, bidirectional=True, dropout=between)

    def reset_parameters(self) -> None:
        _initialise(self, GATES)

    def forward(  # type: ignore[override]  # padded sentences, and no other first state than 0
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """The top layer's states [→h_s; ←h_s], 0 at padding, and the final ones, →h at the last position with ←h at 0.

        The backward direction starts at each sentence's own last position. `lengths` lie on the CPU, or on a GPU, where
        no operation then depends on their values (see `nmt.training.recorded`).
        """
        return (sequence_rnn if _step_by_step(inputs, lengths) else packed_rnn)(self, inputs, lengths)


class BidirectionalLSTM(nn.LSTM):
    """`torch.nn.LSTM` likewise; the forget gates' bias begins at 1. It starts from memory cells of zeros."""

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        between = dropout if layers > 1 else 0.0
        super().__init__(inputs, hidden, layers, batch_first=True, bidirectional=True, dropout=between)

    def reset_parameters(self) -> None:
        _initialise(self, LSTM_GATES)

    def forward(  # type: ignore[override]  # as for the GRU
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """As `BidirectionalGRU.forward`."""
        return (sequence_rnn if _step_by_step(inputs, lengths) else packed_rnn)(self, inputs, lengths)


def _initialise(rnn: nn.GRU | nn.LSTM, gates: int) -> None:
    for name, parameter in rnn.named_parameters():
        if name.startswith("bias_hh") and gates == LSTM_GATES:
            forgetting_nothing(parameter)
        elif name.startswith("bias"):
            zero(parameter)
        elif name.startswith("weight_hh"):
            orthogonal(parameter, gates)
        else:
            glorot(parameter, gates)


def _step_by_step(inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]) -> bool:
    """Whether `sequence_rnn` is faster than PyTorch's own. The latter skips padding, and multiplies as PyTorch does.

    Lengths on a GPU leave no choice: what is packed depends on them.
    """
    if lengths.device.type != "cpu":
        return True
    if not fast(inputs) or torch.is_grad_enabled() or in_bf16():
        return fast(inputs)
    return fastest_library(this_processor()) == "onednn" and 2 * int(lengths.sum()) > inputs.shape[0] * inputs.shape[1]


def packed_rnn(
    rnn: nn.GRU | nn.LSTM, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
    """PyTorch's own GRU or LSTM (cuDNN's, on a GPU)."""
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    if isinstance(rnn, nn.LSTM):
        outputs, (last, _) = nn.LSTM.forward(rnn, packed)
    else:
        outputs, last = nn.GRU.forward(rnn, packed)
    values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
    return values, torch.cat([last[-2], last[-1]], dim=1)


def sequence_rnn(
    rnn: nn.GRU | nn.LSTM, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
    """The same, padding included, by `gru_sequence`, `lstm_sequence` or, where these are not fast, PyTorch's own."""

    def one_way(layer: int, direction: str, read: Tensor) -> Tensor:
        return _one_way(rnn, read, [getattr(rnn, f"{name}_l{layer}{direction}") for name in WEIGHTS])

    between = partial(dropout, rate=rnn.dropout) if rnn.training else None
    return both_ways(one_way, rnn.num_layers, inputs, lengths, between)


def both_ways(
    one_way: Callable[[int, str, Float[Tensor, "S B I"]], Float[Tensor, "S B H"]],
    layers: int,
    inputs: Float[Tensor, "B S E"],
    lengths: Int[Tensor, " B"],
    between: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
    """`BidirectionalGRU.forward` of layers that `one_way` runs over a batch, given the layer and one of `DIRECTIONS`.

    Both directions run from left to right, the backward one over sentences that are mirrored within their own length:
    so the padding is at the end, where it reaches nothing that is kept. `between` is for what layers give each other.
    """
    batch, length, _ = inputs.shape
    sentences, places = (torch.arange(count, device=lengths.device) for count in (batch, length))
    places = places.unsqueeze(1)
    real = places < lengths
    mirrored = (torch.where(real, lengths - 1 - places, places) * batch + sentences).flatten()  # rows of (S B ·)
    outputs = inputs.transpose(0, 1).flatten(0, 1)
    for layer in range(layers):
        if layer and between is not None:
            outputs = between(outputs)
        directions = []
        for direction in DIRECTIONS:
            read = outputs.index_select(0, mirrored) if direction else outputs
            states = one_way(layer, direction, read.view(length, batch, -1)).flatten(0, 1)
            directions.append(states.index_select(0, mirrored) if direction else states)  # mirrored twice is straight
        outputs = torch.cat(directions, dim=1)
    forward, backward = directions
    final = torch.cat([forward.index_select(0, (lengths - 1) * batch + sentences), backward[:batch]], dim=1)
    values = (outputs * real.reshape(-1, 1)).view(length, batch, -1).transpose(0, 1)
    values = values.contiguous()  # or attention would keep a copy of its own
    return values, final


def _one_way(rnn: nn.GRU | nn.LSTM, inputs: Float[Tensor, "S B I"], weights: list[Tensor]) -> Float[Tensor, "S B H"]:
    """The states of a layer in one direction; `weights` are those of `WEIGHTS`."""
    zeros = inputs.new_zeros(inputs.shape[1], rnn.hidden_size)
    if fast(inputs):
        input_weight, weight, input_bias, bias = weights
        gates = linear(inputs.flatten(0, 1), input_weight, input_bias).view(*inputs.shape[:2], -1)
        if isinstance(rnn, nn.LSTM):
            return lstm_sequence(gates, zeros, zeros, weight, bias)
        return gru_sequence(gates, zeros, weight, bias)
    zeros = zeros.unsqueeze(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        if isinstance(rnn, nn.LSTM):
            return torch.lstm(inputs, [zeros, zeros], weights, True, 1, 0.0, rnn.training, False, False)[0]
        return torch.gru(inputs, zeros, weights, True, 1, 0.0, rnn.training, False, False)[0]
