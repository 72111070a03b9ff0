"""The parameters of models by the names of `formulas`, and sentences encoded by these."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from nmt.components import NORMALIZERS, SCOPES
from nmt.model.cells import GatedCell
from nmt.registry import options_of
from nmt.text.vocabulary import EOS
from support.formulas import AttentionWeights, Between, DecoderWeights, Memory, OtherCell, bidirectional, self_attention
from support.tiny_models import Variant


def _array(tensor):
    return tensor.detach().numpy().copy()


def _linear(module):
    return _array(module.weight), _array(module.bias)


def _parameters(module):
    return {name: _array(parameter) for name, parameter in module.named_parameters()}


def attention_weights(attention, score: str) -> AttentionWeights:
    """The formulas of an attention, whose score the configuration calls `score`."""
    scope, heads = attention.scope, attention.heads
    [name] = [name for name, kind in SCOPES.items() if type(scope) is kind]
    [normalizer] = [name for name, kind in NORMALIZERS.items() if type(scope.normalizer) is kind]
    return AttentionWeights(
        score,
        name,
        normalizer,
        _parameters(attention.score),
        _parameters(scope),
        _parameters(scope.normalizer),
        {field: getattr(scope, field) for field in options_of(type(scope)).model_fields if hasattr(scope, field)},
        hard=attention.hard,
        key_value=attention.key_value,
        coverage=attention.coverage,
        count=1 if heads is None else heads.count,
        heads={} if heads is None else {name: _array(child.weight) for name, child in heads.named_children()},
    )


def decoder_weights(model, variant: Variant) -> DecoderWeights:
    decoder = model.decoder
    if variant.wiring == "none":
        attention = AttentionWeights("", "fixed")
    else:
        attention = attention_weights(decoder.attention, variant.score)
    # The model keeps the first layer's W_ih in the two blocks that read the word and what attention gives.
    w_ih, b_ih = _linear(decoder.embedding_gates)
    if variant.wiring != "luong":
        w_ih = np.concatenate([w_ih, _array(decoder.context_gates.weight)], axis=1)
    elif variant.input_feeding:
        w_ih = np.concatenate([w_ih, _array(decoder.feed_gates.weight)], axis=1)
    inputs = [(w_ih, b_ih), *map(_linear, decoder.rnn.upper)]
    layers = [layer_weights(*i, r) for i, r in zip(inputs, decoder.rnn.recurrent, strict=True)]
    (w_s, b_s), (w_y, b_y) = _linear(decoder.bridge), _linear(decoder.output)
    readout = {}
    if variant.wiring == "luong":
        readout["w_c"] = _array(decoder.combine.weight)
    else:
        readout["readout"] = variant.other if variant.other in ("maxout", "linear") else "tanh"
        if readout["readout"] != "linear":
            readout["w_o"], readout["b_o"] = _linear(decoder.readout)
    return DecoderWeights(
        wiring=variant.wiring,
        input_feeding=variant.input_feeding,
        attention=attention,
        embedding=_array(decoder.embedding.weight),
        w_s=w_s,
        b_s=b_s,
        layers=layers,
        w_y=w_y,
        b_y=b_y,
        between=between_layers(decoder.rnn),
        **readout,
    )


def between_layers(layers):
    """The formulas of what is between the layers of a stack."""
    outputs = getattr(layers, "outputs", None)
    return Between() if outputs is None else Between(outputs.residual, [_linear(norm) for norm in outputs.norms])


def layer_weights(w_ih, b_ih, cell):
    """Of a GRU or LSTM: W_ih, b_ih, W_hh, b_hh."""
    if isinstance(cell, GatedCell):
        return (w_ih, b_ih, *_linear(cell))
    return OtherCell(w_ih, b_ih, cell.name, _parameters(cell), [len(w_ih) // cell.gates] * cell.states)


def rnn_weights(rnn: torch.nn.Module):
    """For each layer (forward, backward) its weights, as `layer_weights` has them."""
    if hasattr(rnn, "outputs"):
        return [weights for layer in rnn.layers for weights in rnn_weights(layer)]
    if not isinstance(rnn, torch.nn.RNNBase):
        layers = zip(rnn.rightward, rnn.leftward, strict=True)
        return [[layer_weights(*_linear(one.gates), one.cell) for one in directions] for directions in layers]
    names = ("weight_ih", "bias_ih", "weight_hh", "bias_hh")

    def of(suffix):
        return tuple(_array(getattr(rnn, f"{name}_{suffix}")) for name in names)

    return [(of(f"l{layer}"), of(f"l{layer}_reverse")) for layer in range(rnn.num_layers)]


def encode_alone(model, source: Sequence[int]):
    """Values (S M) and final state of one sentence, by the formulas; `source` comes with its EOS."""
    embedding = _array(model.encoder.embedding.weight)
    values, final = bidirectional(
        [embedding[i] for i in source], rnn_weights(model.encoder.rnn), between_layers(model.encoder.rnn)
    )
    own = model.encoder.self_attention
    if own is not None:
        values = self_attention(values, own.count, _parameters(own))
    return Memory(values, numbered_segments(source, model.segment_ends)), final


def numbered_segments(source: Sequence[int], ends: Sequence[int]):
    """The number of each position's segment, found word by word; `source` comes with its EOS."""
    numbers = [0]
    for last, token in pairwise(source):
        begins = last in ends and token not in ends and token != EOS
        numbers.append(numbers[-1] + begins)
    return numbers
