"""The bidirectional encoder step by step, over padded sentences, and on a GPU in a form that a CUDA graph can capture.

Both directions run from left to right, the backward one over sentences that are mirrored within their own length: so
the padding is at the end, where it reaches nothing that is kept.

Shapes: S source positions, B sentences, E embedding, I inputs of a layer, H state of a direction, M = 2H.
"""

from __future__ import annotations

import warnings

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.fast.layers import dropout, linear
from nmt.fast.products import in_bf16, is_fast, prefers_onednn
from nmt.fast.recurrent import gru_sequence, lstm_sequence
from nmt.model.encoder import Bidirectional, BidirectionalGRU, BidirectionalLSTM

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # of a layer and direction, in PyTorch's order


class _Sequential(Bidirectional):
    """Runs `gru_sequence` or `lstm_sequence` where that is faster than PyTorch's own over packed sentences."""

    def forward(
        self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """As `Bidirectional.forward`. Lengths may be on a GPU: then no operation depends on their values."""
        if self._uses_packed(inputs, lengths):
            return super().forward(inputs, lengths)
        batch, length, _ = inputs.shape
        sentences, positions = (torch.arange(count, device=lengths.device) for count in (batch, length))
        positions = positions.unsqueeze(1)
        real = positions < lengths
        mirrored = (torch.where(real, lengths - 1 - positions, positions) * batch + sentences).flatten()  # of (S B ·)
        outputs = inputs.transpose(0, 1).flatten(0, 1)
        for layer in range(self.num_layers):
            if layer and self.training:
                outputs = dropout(outputs, self.dropout)
            directions = []
            for direction in ("", "_reverse"):
                read = outputs.index_select(0, mirrored) if direction else outputs
                states = self._one_way(read.view(length, batch, -1), layer, direction).flatten(0, 1)
                directions.append(states.index_select(0, mirrored) if direction else states)  # straight again
            outputs = torch.cat(directions, dim=1)
        forward, backward = directions
        final = torch.cat([forward.index_select(0, (lengths - 1) * batch + sentences), backward[:batch]], dim=1)
        values = (outputs * real.reshape(-1, 1)).view(length, batch, -1).transpose(0, 1)
        return values.contiguous(), final  # contiguous, or attention would keep a copy of its own

    def _uses_packed(self, inputs: Float[Tensor, "B S E"], lengths: Int[Tensor, " B"]) -> bool:
        """Whether PyTorch's own is faster: it skips padding, and multiplies by PyTorch's products."""
        if lengths.device.type != "cpu":
            return False
        if not is_fast(inputs) or torch.is_grad_enabled() or in_bf16():
            return not is_fast(inputs)
        return not prefers_onednn() or 2 * int(lengths.sum()) <= inputs.shape[0] * inputs.shape[1]

    def _one_way(self, inputs: Float[Tensor, "S B I"], layer: int, direction: str) -> Float[Tensor, "S B H"]:
        """The states of a layer in one direction."""
        weights = [getattr(self, f"{name}_l{layer}{direction}") for name in WEIGHTS]
        zeros = inputs.new_zeros(inputs.shape[1], self.hidden_size)
        is_lstm = isinstance(self, nn.LSTM)
        if is_fast(inputs):
            input_weight, weight, input_bias, bias = weights
            gates = linear(inputs.flatten(0, 1), input_weight, input_bias).view(*inputs.shape[:2], -1)
            if is_lstm:
                return lstm_sequence(gates, zeros, zeros, weight, bias)
            return gru_sequence(gates, zeros, weight, bias)
        zeros = zeros.unsqueeze(0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
            if is_lstm:
                return torch.lstm(inputs, [zeros, zeros], weights, True, 1, 0.0, self.training, False, False)[0]
            return torch.gru(inputs, zeros, weights, True, 1, 0.0, self.training, False, False)[0]


class FastBidirectionalGRU(_Sequential, BidirectionalGRU):  # type: ignore[misc]
    pass


class FastBidirectionalLSTM(_Sequential, BidirectionalLSTM):  # type: ignore[misc]
    pass
