"""Linear layers for search, which multiplies few rows by the same weights over and over.

oneDNN keeps a matrix in blocks. Given a plain one, it rearranges it in every product, which for few rows takes as long
as the product itself; here that is done once. In bfloat16 the products take half the time, in 8 bits two fifths.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import TypeVar

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from nmt.kernels.linear import few_sizes, has_kernel

Module = TypeVar("Module", bound=nn.Module)

_ROWS = 64  # that the blocks are laid out for: any number can be multiplied


def packed(module: Module, precision: str = "float32") -> Module:
    """The module for inference: a copy with its own layout of the linear layers' weights, which shares all the others.

    Its products take factors of the given precision. It does not follow later changes of the weights. Where there are
    no such kernels (another device, a model in another type than float32, a PyTorch without oneDNN) it is the module
    itself.
    """
    if not has_kernel(next(module.parameters())):
        return module
    copy = deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})
    for parent in list(copy.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear):
                setattr(parent, name, _LAYERS[precision](child))
    return copy


class _PackedLinear(nn.Module, ABC):
    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias  # for those who ask; `product` has its own
        self.out_features = layer.out_features

    def forward(self, inputs: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        outputs = self.product(inputs.reshape(-1, inputs.shape[-1]))
        return outputs.view(*inputs.shape[:-1], self.out_features)

    @abstractmethod
    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]: ...


class _Blocks(_PackedLinear):
    """Factors of a floating type, summed in float32."""

    def __init__(self, layer: nn.Linear, dtype: torch.dtype) -> None:
        super().__init__(layer)
        self.blocks = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach().to(dtype), _ROWS)
        self.shift = None if layer.bias is None else layer.bias.detach().to(dtype)

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        outputs = few_sizes(
            rows.to(self.blocks.dtype),
            lambda some: torch.ops.mkldnn._linear_pointwise(some, self.blocks, self.shift, "none", [], ""),
        )
        return outputs.to(rows.dtype)


class _Bytes(_PackedLinear):
    """Factors that are whole numbers to ±127, times a scale of each row and of each output; their sums are exact."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer)
        weight, self.scales = _in_bytes(layer.weight.detach())
        self.columns = weight.t()

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        numbers, scales = _in_bytes(rows)
        sums = few_sizes(numbers, lambda some: torch._int_mm(some, self.columns))
        outputs = sums.float().mul_(self.scales).mul_(scales.unsqueeze(1))
        return outputs if self.bias is None else outputs.add_(self.bias)


def _in_bytes(rows: Float[Tensor, "N I"]) -> tuple[Int8[Tensor, "N I"], Float[Tensor, " N"]]:
    """Each row's numbers, and what to multiply them by."""
    scales = rows.abs().amax(dim=1).clamp_(min=torch.finfo(rows.dtype).tiny * 127) / 127
    return (rows / scales.unsqueeze(1)).round_().to(torch.int8), scales


_LAYERS: dict[str, Callable[[nn.Linear], _PackedLinear]] = {
    "float32": partial(_Blocks, dtype=torch.float32),
    "bf16": partial(_Blocks, dtype=torch.bfloat16),
    "int8": _Bytes,
}
