"""Linear layers for search, which multiplies few rows by the same weights over and over.

oneDNN keeps a matrix in blocks. Given a plain one, it rearranges it in every product, which for few rows takes as long
as the product itself; here that is done once. In bfloat16 the products take half the time, a whole search 0.7.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nmt.model.linear import few_sizes, has_kernel

Module = TypeVar("Module", bound=nn.Module)

_ROWS = 64  # that the blocks are laid out for: any number can be multiplied


def packed(module: Module, dtype: torch.dtype = torch.float32) -> Module:
    """The module for inference: a copy with its own layout of the linear layers' weights, which shares all the others.

    Its products take factors of the given type, and sum them in float32. It does not follow later changes of the
    weights. Where there are no such kernels (another device, a model in another type than float32, a PyTorch without
    oneDNN) it is the module itself.
    """
    if not has_kernel(next(module.parameters())) or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return module
    copy = deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})
    for parent in list(copy.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear):
                setattr(parent, name, _PackedLinear(child, dtype))
    return copy


class _PackedLinear(nn.Module):
    def __init__(self, layer: nn.Linear, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias  # for those who ask; `forward` has its own
        self.out_features = layer.out_features
        self.blocks = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach().to(dtype), _ROWS)
        self.shift = None if layer.bias is None else layer.bias.detach().to(dtype)

    def forward(self, inputs: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        rows = inputs.reshape(-1, inputs.shape[-1]).to(self.blocks.dtype)
        outputs = few_sizes(
            rows, lambda some: torch.ops.mkldnn._linear_pointwise(some, self.blocks, self.shift, "none", [], "")
        )
        return outputs.to(inputs.dtype).view(*inputs.shape[:-1], self.out_features)
