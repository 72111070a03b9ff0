"""Linear layers with their weights laid out for products, and how each precision multiplies.

Shapes: N rows, I inputs, O outputs, C outputs that a choice takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

from nmt.kernels import private
from nmt.kernels.byte_products import as_float, in_bytes, scaled
from nmt.kernels.linear import few_sizes
from nmt.kernels.switch import in_use

Choose: TypeAlias = Callable[[Tensor], Tensor]


class PackedLinear(nn.Module, ABC):
    """The products' own form of the weights is computed when it is first needed: of an output layer it may never be."""

    weight: Tensor
    bias: Any  # a tensor, or None
    stays_rounded = False

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.weight, self.bias = layer.get_parameter("weight"), layer._parameters.get("bias")
        self.out_features, self.bounded = len(self.weight), bool(getattr(layer, "bounded", False))

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


class Plain(PackedLinear):
    """The product of a plain `Linear`."""

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        return F.linear(rows, self.weight, self.bias)


class Rounded(PackedLinear):
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


class RoundedBlocks(Rounded):
    """The same by oneDNN's product, of weights in its own layout."""

    @cached_property
    def factors(self) -> Tensor:
        return private.blocks(self.weight.detach().to(self.dtype))

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        return few_sizes(rows.to(self.dtype), lambda some: private.product(some, self.factors, self.shift))


class Blocks(RoundedBlocks):
    """The same in float32, where nothing is rounded."""

    dtype = torch.float32


class Bytes(PackedLinear):
    """Factors that are whole numbers to ±127, times a scale of each row and of each output; their sums are exact.

    Rows of a `bounded` layer have the same scale: the largest number of a state hardly differs from 1.
    """

    @cached_property
    def factors(self) -> tuple[Tensor, Tensor]:
        """The weight's whole numbers, transposed, and the scales of the outputs."""
        numbers, scales = self.rounded(self.weight.detach())
        return numbers.t(), scales

    def rounded(self, weight: Float[Tensor, "N I"]) -> tuple[Int8[Tensor, "N I"], Float[Tensor, " N"]]:
        """Whole numbers for some rows of a weight, and their scales, with that of a `bounded` layer's inputs."""
        numbers, scales = in_bytes(weight)
        return numbers, scales / 127 if self.bounded else scales

    def take_factors(self, layer: Bytes, rows: Int[Tensor, " R"]) -> None:
        """Take over what another layer has computed of these rows of its weight; this one's begins with them."""
        numbers, scales = self.rounded(self.weight.detach()[len(rows) :])
        known, of_known = layer.factors
        self.factors = torch.cat([known.t().index_select(0, rows), numbers]).t(), torch.cat([of_known[rows], scales])

    def product(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        sums, of_rows = self.sums(rows)
        return scaled(as_float(sums), self.factors[1], self.bias, of_rows)

    def taken(self, rows: Float[Tensor, "N I"], choices: Sequence[Choose]) -> list[Float[Tensor, "N _"]]:
        sums, of_rows = self.sums(rows)
        results = []
        for choose in choices:
            scales, bias = (choose(x.unsqueeze(0)).unsqueeze(1) for x in (self.factors[1], self.bias))
            group = len(scales), -1, 1  # of rows of which the same is taken
            outputs = choose(sums).float().view(len(scales), -1, scales.shape[2])
            outputs = scaled(outputs, scales, bias, None if of_rows is None else of_rows.view(group))
            results.append(outputs.flatten(0, 1))
        return results

    def sums(self, rows: Float[Tensor, "N I"]) -> tuple[Int[Tensor, "N O"] | Float[Tensor, "N O"], Tensor | None]:
        """The products' sums, and the scales of the rows (N 1); None if they are in the outputs' scales."""
        if self.bounded:
            return self.multiplied(rows.mul(127).round_().to(torch.int8)), None
        numbers, scales = in_bytes(rows)
        return self.multiplied(numbers), scales.unsqueeze(1)

    def multiplied(self, numbers: Int8[Tensor, "N I"]) -> Int[Tensor, "N O"] | Float[Tensor, "N O"]:
        return few_sizes(numbers, lambda some: private.byte_product(some, self.factors[0]))


class PlainBytes(Bytes):
    """The same by a product of float64 numbers, which holds such sums exactly."""

    @cached_property
    def factors(self) -> tuple[Tensor, Tensor]:
        weight, scales = super().factors
        return weight.double(), scales

    def multiplied(self, numbers: Int8[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        return numbers.double() @ self.factors[0]


def kind_of(precision: str) -> type[PackedLinear] | None:
    """The layers of a precision: fast ones, or plain ones; None where a plain `Linear` is that already."""
    fast = in_use() == "fast"
    match precision:
        case "float32":
            return Blocks if fast and private.has_blocks(torch.float32) else None
        case "bf16":
            return RoundedBlocks if fast and private.has_blocks(torch.bfloat16) else Rounded
        case "int8":
            return Bytes if fast and private.has_byte_product() else PlainBytes
        case _:
            raise ValueError(f"{precision}: not a precision of products")
