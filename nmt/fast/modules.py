"""Faster subclasses of the model's modules, with the same parameters, and what replaces the modules by them."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from nmt.fast.additive import additive_scores
from nmt.fast.attention import gather_windows, inner_products, weighted_sums
from nmt.fast.encoder import FastBidirectionalGRU, FastBidirectionalLSTM
from nmt.fast.layers import dropout, linear
from nmt.fast.products import is_fast
from nmt.fast.recurrent import gru_sequence, gru_step, lstm_sequence
from nmt.fast.shared_gradients import can_share, for_all_uses, reused, reused_weights
from nmt.model import scores
from nmt.model.attention import Attention, Memory
from nmt.model.bahdanau import BahdanauDecoder
from nmt.model.cells import Gates, GRUCell, LSTMCell
from nmt.model.decoder import Decoder
from nmt.model.encoder import BidirectionalGRU, BidirectionalLSTM, Encoded
from nmt.model.layers import Embedding, Linear
from nmt.model.luong import LuongDecoder


def replace_modules(model: nn.Module) -> None:
    """Replace the model's modules, in place, by their faster subclasses. Others, such as a user's own, stay."""
    for module in model.modules():
        if type(module) in FASTER:
            module.__class__ = FASTER[type(module)]


class FastLinear(Linear):
    def forward(self, input: Tensor) -> Tensor:
        weight = for_all_uses(self.weight)
        return linear(input, weight, self.bias) if is_fast(input) else F.linear(input, weight, self.bias)


class FastGates(FastLinear, Gates):
    pass


class FastEmbedding(Embedding):
    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, for_all_uses(self.weight))


class FastDropout(nn.Dropout):
    def forward(self, input: Tensor) -> Tensor:
        return dropout(input, self.p) if self.training and is_fast(input) else super().forward(input)


class FastGRUCell(GRUCell):
    def forward(self, inputs: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        if not is_fast(inputs):
            return super().forward(inputs, *state)
        return (gru_step(inputs, state[0], for_all_uses(self.weight), self.bias),)

    def sequence(self, inputs: Tensor, *state: Tensor) -> Tensor:
        if not is_fast(inputs):
            return super().sequence(inputs, *state)
        return gru_sequence(inputs, state[0], self.weight, self.bias)


class FastLSTMCell(LSTMCell):
    def recurrent(self, hidden: Tensor) -> Tensor:
        weight = for_all_uses(self.weight)
        return linear(hidden, weight, self.bias) if is_fast(hidden) else F.linear(hidden, weight, self.bias)

    def sequence(self, inputs: Tensor, *state: Tensor) -> Tensor:
        if not is_fast(inputs):
            return super().sequence(inputs, *state)
        return lstm_sequence(inputs, state[0], state[1], self.weight, self.bias)


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


class FastDecoder(Decoder):
    """Its layers are used at each of T steps: the weight of each gets one gradient for all of them."""

    def forward(self, *arguments: Any) -> Any:
        with reused_weights(self):
            return super().forward(*arguments)


FASTER: dict[type[nn.Module], type[nn.Module]] = {
    Linear: FastLinear,
    Gates: FastGates,
    Embedding: FastEmbedding,
    nn.Dropout: FastDropout,
    GRUCell: FastGRUCell,
    LSTMCell: FastLSTMCell,
    BidirectionalGRU: FastBidirectionalGRU,
    BidirectionalLSTM: FastBidirectionalLSTM,
    scores.AdditiveScore: FastAdditiveScore,
    Attention: FastAttention,
}


def _with(mixin: type[nn.Module], *plain: type[nn.Module]) -> None:
    """Add subclasses, `Fast…`, of several classes to the table."""
    for kind in plain:
        name = f"Fast{kind.__name__}"
        FASTER[kind] = globals()[name] = type(name, (mixin, kind), {"__module__": __name__})


_with(FastAdditiveScore, scores.ConcatScore)
_with(FastProducts, scores.DotScore, scores.GeneralScore, scores.ScaledDotScore, scores.ScaledGeneralScore)
_with(FastProducts, scores.LocationScore)
_with(FastDecoder, BahdanauDecoder, LuongDecoder)
