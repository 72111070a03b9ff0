"""Faster subclasses of the model's modules, with the same parameters, and what replaces the modules by them.

Shapes: S source positions, B sentences, E embedding, I inputs of a layer, H state of a direction, M = 2H.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.fast.attention import additive_scores, gather_windows, inner_products, weighted_sums
from nmt.fast.products import in_bf16, is_fast, linear, prefers_onednn
from nmt.fast.recurrent import gru_sequence, lstm_sequence
from nmt.fast.shared_gradients import can_share, reused
from nmt.model import scores
from nmt.model.attention import Attention, Memory
from nmt.model.bahdanau import BahdanauDecoder
from nmt.model.cells import Gates, GRUCell, LSTMCell
from nmt.model.decoder import Decoder
from nmt.model.encoder import Bidirectional, BidirectionalGRU, BidirectionalLSTM, Encoded
from nmt.model.layers import Linear
from nmt.model.luong import LuongDecoder

RNN_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # of a layer and direction, in PyTorch's order
_WEIGHTS: ContextVar[dict[int, Tensor]] = ContextVar("reused_weights", default={})  # noqa: B039 - nothing changes it


def replace_modules(model: nn.Module) -> None:
    """Replace the model's modules, in place, by their faster subclasses. Others, such as a user's own, stay."""
    for module in model.modules():
        if type(module) in FASTER:
            module.__class__ = FASTER[type(module)]


@contextmanager
def reused_weights(module: nn.Module) -> Iterator[None]:
    """In its block, the module's layers are used many times: the weight of each gets one gradient for all uses."""
    matrices = [parameter for parameter in module.parameters() if parameter.dim() == 2 and is_fast(parameter)]
    token = _WEIGHTS.set({id(matrix): reused(matrix) for matrix in matrices})
    try:
        yield
    finally:
        _WEIGHTS.reset(token)


def for_all_uses(weight: Tensor) -> Tensor:
    """A layer's weight, as `reused_weights` has prepared it, if it has."""
    return _WEIGHTS.get().get(id(weight), weight)


class FastLinear(Linear):
    def forward(self, input: Tensor) -> Tensor:
        return linear(input, for_all_uses(self.weight), self.bias)


class FastGRUCell(GRUCell):
    def forward(self, inputs: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        if not is_fast(inputs):
            return super().forward(inputs, *state)
        weight = for_all_uses(self.weight)
        return (gru_sequence(inputs.unsqueeze(0), state[0], weight, self.bias).squeeze(0),)

    def sequence(self, inputs: Tensor, *state: Tensor) -> Tensor:
        if not is_fast(inputs):
            return super().sequence(inputs, *state)
        return gru_sequence(inputs, state[0], self.weight, self.bias)


class FastLSTMCell(LSTMCell):
    def recurrent(self, hidden: Tensor) -> Tensor:
        return linear(hidden, for_all_uses(self.weight), self.bias)


class FastAdditiveScore(scores.AdditiveScore):
    def compare(self, query: Tensor, keys: Tensor) -> Tensor:
        if not (is_fast(query) and can_share()):
            return super().compare(query, keys)
        return additive_scores(query, keys, self.v.weight.squeeze(0))


class FastProducts(scores.ProductScore):
    def products(self, query: Tensor, keys: Tensor) -> Tensor:
        return inner_products(query, keys) if is_fast(query) else super().products(query, keys)


class FastAttention(Attention):
    def prepare(self, encoded: Encoded) -> Memory:
        memory = super().prepare(encoded)
        return memory._replace(values=reused(memory.values), keys=reused(memory.keys))

    def weighted_sums(self, weights: Tensor, values: Tensor) -> Tensor:
        return weighted_sums(weights, values) if is_fast(weights) else super().weighted_sums(weights, values)

    def gather(self, vectors: Tensor, positions: Tensor) -> Tensor:
        return gather_windows(vectors, positions) if can_share() else super().gather(vectors, positions)


class FastBidirectional(Bidirectional):
    """Runs `gru_sequence` or `lstm_sequence` where that is faster than PyTorch's own over packed sentences.

    The backward direction runs from left to right over sentences that are mirrored within their own length: so the
    padding is at the end, where it reaches nothing that is kept.
    """

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
                outputs = F.dropout(outputs, self.dropout)
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
        weights = [getattr(self, f"{name}_l{layer}{direction}") for name in RNN_WEIGHTS]
        zeros = inputs.new_zeros(inputs.shape[1], self.hidden_size)
        is_lstm = isinstance(self, nn.LSTM)
        if is_fast(inputs):
            input_weight, weight, input_bias, bias = weights
            gates = linear(inputs.flatten(0, 1), input_weight, input_bias).view(*inputs.shape[:2], -1)
            if is_lstm:
                return lstm_sequence(gates, zeros, zeros, weight, bias)
            return gru_sequence(gates, zeros, weight, bias)
        zeros = zeros.unsqueeze(0)
        options = weights, True, 1, 0.0, self.training, False, False
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
            states, *_ = torch.lstm(inputs, [zeros, zeros], *options) if is_lstm else torch.gru(inputs, zeros, *options)
        return states


class FastDecoder(Decoder):
    """Its layers are used at each of T steps: the weight of each gets one gradient for all of them."""

    def forward(self, *arguments: Any) -> Any:
        with reused_weights(self):
            return super().forward(*arguments)


FASTER: dict[type[nn.Module], type[nn.Module]] = {
    Linear: FastLinear,
    GRUCell: FastGRUCell,
    LSTMCell: FastLSTMCell,
    scores.AdditiveScore: FastAdditiveScore,
    Attention: FastAttention,
}


def _with(mixin: type[nn.Module], *plain: type[nn.Module]) -> None:
    """Add subclasses, `Fast…`, of several classes to the table."""
    for kind in plain:
        name = f"Fast{kind.__name__}"
        FASTER[kind] = globals()[name] = type(name, (mixin, kind), {"__module__": __name__})


_with(FastLinear, Gates)
_with(FastBidirectional, BidirectionalGRU, BidirectionalLSTM)
_with(FastAdditiveScore, scores.ConcatScore)
_with(FastProducts, scores.DotScore, scores.GeneralScore, scores.ScaledDotScore, scores.ScaledGeneralScore)
_with(FastProducts, scores.LocationScore)
_with(FastDecoder, BahdanauDecoder, LuongDecoder)
