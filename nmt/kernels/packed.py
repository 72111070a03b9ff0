"""Linear layers for search, which multiplies few rows by the same weights over and over.

oneDNN keeps a matrix in blocks. Given a plain one, it rearranges it in every product, which for few rows takes as long
as the product itself; here that is done once. In bfloat16 the products take half the time, in 8 bits two fifths.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy, deepcopy
from functools import cached_property
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

from nmt.kernels import private
from nmt.kernels.gru import GRUCell, gru_sequence, gru_update
from nmt.kernels.linear import Linear, few_sizes
from nmt.kernels.lstm import LSTMCell, lstm_sequence, lstm_update
from nmt.kernels.switch import in_use

Model = TypeVar("Model")
Parent = TypeVar("Parent", bound=nn.Module)


def packed(module: Model, precision: str = "float32") -> Model:
    """The module for inference: a copy with its own layout of the linear layers' weights, which shares all the others.

    In bf16 the products' factors, results and biases are rounded to bfloat16, and their sums are float32. In int8 the
    factors are whole numbers. The copy does not follow later changes of the weights. Where it would bring nothing
    (another device, weights of another type than float32, float32 with the plain kernels, a module that is packed so
    already) it is the module itself.
    """
    kind = _kind(precision)
    if not isinstance(module, nn.Module):
        return module
    kinds = {type(child) for child in module.modules() if isinstance(child, _PackedLinear)}
    if kind is None and kinds:  # for another precision
        kind = _Plain
    if kind is None or kind in kinds:
        return module
    parameter = next(module.parameters())
    if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
        return module
    other = deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})
    for parent in list(other.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear | _PackedLinear):  # one packed for another precision has its weights still
                setattr(parent, name, kind(child))
            elif isinstance(child, GRUCell):
                setattr(parent, name, _PackedGRUCell(kind(child)))
            elif isinstance(child, LSTMCell):
                setattr(parent, name, _PackedLSTMCell(kind(child)))
    return other


def with_outputs(layer: nn.Module, rows: Int[Tensor, " R"]) -> nn.Module:
    """The layer, packed as it was, with these of its outputs, which stay rounded if its products are.

    Behind them are up to 255 more, all alike, that nobody has asked for: oneDNN compiles each size of a product.
    """
    assert isinstance(layer, Linear | _PackedLinear)
    rows = F.pad(rows, (0, min(-len(rows) % 256, layer.out_features - len(rows))))
    fewer = copy(layer)
    fewer._parameters = {
        name: None if own is None else nn.Parameter(own[rows], False) for name, own in layer._parameters.items()
    }
    fewer.out_features = len(rows)
    if isinstance(layer, Linear):
        return fewer
    chosen = type(layer)(fewer)
    chosen.stays_rounded = True
    return chosen


def with_child(parent: Parent, name: str, child: nn.Module) -> Parent:
    """A shallow copy of a module with another child of that name."""
    other = copy(parent)
    other._modules = {**parent._modules, name: child}
    return other


class _PackedLinear(nn.Module, ABC):
    """The products' own form of the weights is computed when it is first needed: of an output layer it may never be."""

    weight: Tensor
    bias: Any  # a tensor, or None
    stays_rounded = False

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.weight, self.bias = layer.get_parameter("weight"), layer._parameters.get("bias")
        self.out_features = len(self.weight)

    def forward(self, inputs: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        outputs = self.product(inputs.reshape(-1, inputs.shape[-1]))
        outputs = outputs if self.stays_rounded else outputs.to(inputs.dtype)
        return outputs.view(*inputs.shape[:-1], self.out_features)

    def __getstate__(self) -> dict[str, Any]:
        """Without the products' own form, which cannot be copied."""
        computed = [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]
        return {name: value for name, value in vars(self).items() if name not in computed}

    @abstractmethod
    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]: ...


class _PackedGRUCell(nn.Module):
    """A `GRUCell` with a packed layer for its recurrent gates."""

    def __init__(self, recurrent: _PackedLinear) -> None:
        super().__init__()
        self.recurrent = recurrent

    def forward(self, gates: Float[Tensor, "N G"], hidden: Float[Tensor, "N H"]) -> tuple[Float[Tensor, "N H"]]:
        return (gru_update(gates, self.recurrent(hidden), hidden),)

    def sequence(self, gates: Float[Tensor, "T B G"], hidden: Float[Tensor, "B H"]) -> Float[Tensor, "T B H"]:
        """As `GRUCell.sequence`, in float32. Search uses it once, to find all attention weights."""
        return gru_sequence(gates, hidden, self.recurrent.weight, self.recurrent.bias)


class _PackedLSTMCell(nn.Module):
    """The same of an `LSTMCell`."""

    def __init__(self, recurrent: _PackedLinear) -> None:
        super().__init__()
        self.recurrent = recurrent

    def forward(
        self, gates: Float[Tensor, "N G"], hidden: Float[Tensor, "N H"], cell: Float[Tensor, "N H"]
    ) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N H"]]:
        return lstm_update(gates, self.recurrent(hidden), cell)

    def sequence(
        self, gates: Float[Tensor, "T B G"], hidden: Float[Tensor, "B H"], cell: Float[Tensor, "B H"]
    ) -> Float[Tensor, "T B H"]:
        return lstm_sequence(gates, hidden, cell, self.recurrent.weight, self.recurrent.bias)


class _Plain(_PackedLinear):
    """The product of a plain `Linear`."""

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        return F.linear(rows, self.weight, self.bias)


class _Rounded(_PackedLinear):
    """Factors of a floating type, summed in float32, by PyTorch's own product."""

    dtype = torch.bfloat16

    @cached_property
    def factors(self) -> Tensor:
        return self.weight.detach().to(self.dtype)

    @cached_property
    def shift(self) -> Tensor | None:
        return None if self.bias is None else self.bias.detach().to(self.dtype)

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        return F.linear(rows.to(self.dtype), self.factors, self.shift)


class _RoundedBlocks(_Rounded):
    """The same by oneDNN's product, of weights in its own layout."""

    @cached_property
    def factors(self) -> Tensor:
        return private.blocks(self.weight.detach().to(self.dtype))

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        return few_sizes(rows.to(self.dtype), lambda some: private.product(some, self.factors, self.shift))


class _Blocks(_RoundedBlocks):
    """The same in float32, where nothing is rounded."""

    dtype = torch.float32


class _Bytes(_PackedLinear):
    """Factors that are whole numbers to ±127, times a scale of each row and of each output; their sums are exact."""

    @cached_property
    def factors(self) -> tuple[Tensor, Tensor]:
        """The weight's whole numbers, transposed, and the scales of the outputs."""
        weight, scales = in_bytes(self.weight.detach())
        return weight.t(), scales

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        numbers, scales = in_bytes(rows)
        outputs = self.sums(numbers).float().mul_(self.factors[1]).mul_(scales.unsqueeze(1))
        return outputs if self.bias is None else outputs.add_(self.bias)

    def sums(self, numbers: Int8[Tensor, "N I"]) -> Int[Tensor, "N O"] | Float[Tensor, "N O"]:
        return few_sizes(numbers, lambda some: private.byte_product(some, self.factors[0]))


class _PlainBytes(_Bytes):
    """The same by a product of float64 numbers, which holds such sums exactly."""

    @cached_property
    def factors(self) -> tuple[Tensor, Tensor]:
        weight, scales = super().factors
        return weight.double(), scales

    def sums(self, numbers: Int8[Tensor, "N I"]) -> Int[Tensor, "N O"] | Float[Tensor, "N O"]:
        return numbers.double() @ self.factors[0]


def in_bytes(rows: Float[Tensor, "N I"]) -> tuple[Int8[Tensor, "N I"], Float[Tensor, " N"]]:
    """Each row's numbers, and what to multiply them by: the largest absolute value is 127."""
    scales = rows.abs().amax(dim=1).clamp_(min=torch.finfo(rows.dtype).tiny * 127) / 127
    return (rows / scales.unsqueeze(1)).round_().to(torch.int8), scales


def _kind(precision: str) -> type[_PackedLinear] | None:
    """The layers of a precision: fast ones, or plain ones; None where a plain `Linear` is that already."""
    fast = in_use() == "fast"
    match precision:
        case "float32":
            return _Blocks if fast and private.has_blocks(torch.float32) else None
        case "bf16":
            return _RoundedBlocks if fast and private.has_blocks(torch.bfloat16) else _Rounded
        case "int8":
            return _Bytes if fast and private.has_byte_product() else _PlainBytes
        case _:
            raise ValueError(f"{precision}: not a precision of products")
