"""Linear layers for search, which multiplies few rows by the same weights over and over.

oneDNN keeps a matrix in blocks. Given a plain one, it rearranges it in every product, which for few rows takes as long
as the product itself; here that is done once. In bfloat16 the products take half the time, in 8 bits two fifths.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.kernels.bidirectional import BidirectionalGRU, BidirectionalLSTM
from nmt.kernels.gru import GRUCell
from nmt.kernels.linear import Linear
from nmt.kernels.lstm import LSTMCell
from nmt.kernels.packed_layers import Bytes, Choose, PackedLinear, Plain, Rounded, kind_of
from nmt.kernels.packed_recurrent import PackedBidirectional, PackedGRUCell, PackedLSTMCell

Model = TypeVar("Model")
Parent = TypeVar("Parent", bound=nn.Module)


def packed(module: Model, precision: str = "float32") -> Model:
    """The module for inference: a copy with its own layout of the linear layers' weights, which shares all the others.

    In bf16 the products' factors, results and biases are rounded to bfloat16, and their sums are float32. In int8 the
    factors are whole numbers, those of encoders too, and there must be no gradients. The copy does not follow later
    changes of the weights.
    Where it would bring nothing (another device, weights of another type than float32, float32 with the plain kernels,
    a module that is packed so already) it is the module itself.
    """
    kind = kind_of(precision)
    if not isinstance(module, nn.Module):
        return module
    kinds = {type(child) for child in module.modules() if isinstance(child, PackedLinear)}
    if kind is None and kinds:  # for another precision
        kind = Plain
    if kind is None or kind in kinds:
        return module
    parameter = next(module.parameters())
    if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
        return module
    other = deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})
    for parent in list(other.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear | PackedLinear):  # one packed for another precision has its weights still
                setattr(parent, name, kind(child))
            elif isinstance(child, GRUCell):
                setattr(parent, name, PackedGRUCell(kind(child)))
            elif isinstance(child, LSTMCell):
                setattr(parent, name, PackedLSTMCell(kind(child)))
            elif isinstance(child, BidirectionalGRU | BidirectionalLSTM) and issubclass(kind, Bytes):
                setattr(parent, name, PackedBidirectional(child, kind))
            elif isinstance(child, PackedBidirectional):
                setattr(parent, name, PackedBidirectional(child.rnn, kind) if issubclass(kind, Bytes) else child.rnn)
    return other


def with_weights(
    layer: nn.Module, weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None, *, bounded: bool = False
) -> nn.Module:
    """A layer packed as this one, with other weights."""
    assert isinstance(layer, Linear | PackedLinear)
    other = copy(layer)
    other._parameters = {"weight": nn.Parameter(weight.contiguous(), requires_grad=False), "bias": None}
    if bias is not None:
        other._parameters["bias"] = nn.Parameter(bias, requires_grad=False)
    other.out_features, other.bounded = len(weight), bounded
    if isinstance(other, PackedLinear):
        return type(other)(other)
    other.in_features = weight.shape[1]
    return other


def with_outputs(
    layer: nn.Module, rows: Int[Tensor, " R"], never: Sequence[int], others: Sequence[nn.Module] = ()
) -> nn.Module:
    """The layer, packed as it was, with only these of its outputs; those at the places `never` among them are −∞.

    The last outputs are those of `others`, each of which has a weight and a bias, as the layer must have. Between them
    are up to 255 more that nobody has asked for: oneDNN compiles each size of a product. Where products are rounded,
    outputs stay rounded.
    """
    weight, bias = layer.get_parameter("weight"), layer.get_parameter("bias")
    wanted = len(rows) + sum(len(other.get_parameter("weight")) for other in others)
    rows = F.pad(rows, (0, min(-wanted % 256, max(0, len(weight) - len(rows)))))
    own_bias = bias[rows]
    own_bias[list(never)] = -torch.inf
    weights, biases = ([other.get_parameter(name) for other in others] for name in ("weight", "bias"))
    all_weights = torch.cat([weight.index_select(0, rows), *weights])  # a third of the time of weight[rows]
    all_biases = torch.cat([own_bias, *biases])
    chosen = with_weights(layer, all_weights, all_biases, bounded=bool(layer.bounded))
    if isinstance(chosen, PackedLinear):
        chosen.stays_rounded = True
    if isinstance(layer, Bytes) and isinstance(chosen, Bytes) and "factors" in vars(layer):
        chosen.take_factors(layer, rows)
    return chosen


def lay_out_now(module: nn.Module, limited: nn.Module) -> None:
    """Compute what the products of a module's packed layers need now, for copies of this process.

    Of the `limited` layer, whose products are often those of layers `with_outputs`, only what these take over.
    """
    for layer in module.modules():
        if isinstance(layer, Bytes) or (isinstance(layer, Rounded) and layer is not limited):
            _ = layer.factors


def taken(layer: nn.Module, inputs: Float[Tensor, "N I"], choices: Sequence[Choose]) -> list[Float[Tensor, "N _"]]:
    """What each choice takes of a layer's outputs. Of 8-bit products nothing else is scaled.

    A choice is also given the scales and the bias, in one row (1 O). It must take of that what it takes of all rows, or
    of each of several groups of as many rows.
    """
    if isinstance(layer, Bytes):
        return layer.taken(inputs, choices)
    outputs = layer(inputs)
    return [choose(outputs) for choose in choices]


def with_child(parent: Parent, name: str, child: nn.Module) -> Parent:
    """A shallow copy of a module with another child of that name."""
    other = copy(parent)
    other._modules = {**parent._modules, name: child}
    return other
