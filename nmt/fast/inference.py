"""A model for search: the fast modules, with weights laid out for products by few rows, over and over.

oneDNN keeps a matrix in blocks. Given a plain one, it rearranges it in every product, which for few rows takes as long
as the product itself; here that is done once. In bfloat16 the products take half the time, in 8 bits two fifths.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int, Int8
from torch import Tensor, nn

from nmt.acceleration import Precision
from nmt.checkpoint.weights import in_bytes
from nmt.decoding.ensemble import Ensemble, TranslationModel
from nmt.fast import torch_internals
from nmt.fast.modules import FastGRUCell, FastLSTMCell, replace_modules
from nmt.fast.processor import keep_freed_memory
from nmt.fast.products import few_sizes, prefers_onednn, products_in
from nmt.fast.recurrent import gru_update
from nmt.model.attention import Memory
from nmt.model.cells import GatedCell
from nmt.model.decoder import DecoderState
from nmt.model.seq2seq import Seq2Seq
from nmt.system.errors import UserError


def prepare_for_inference(model: TranslationModel, precision: Precision) -> TranslationModel:
    """A copy of the model for search in a precision, which shares its parameters and does not follow their changes.

    In bf16 the factors and results of products are rounded to bfloat16, and their sums are float32. In int8 the
    decoder's factors are integers. A model of another type than float32 is returned as it is.

    Raises `UserError` where a device has no such products.
    """
    keep_freed_memory()
    if precision == "int8" and model.device.type != "cpu":
        raise UserError(f"search.precision: int8 needs a CPU, and this device is {model.device.type}; use float32")
    if isinstance(model, Ensemble):
        return Ensemble([_prepared(member, precision) for member in model.members])
    return _prepared(model, precision) if isinstance(model, Seq2Seq) else model


class InferenceSeq2Seq(Seq2Seq):
    """A `Seq2Seq` whose products have a precision."""

    precision: Precision = "float32"

    @contextmanager
    def _in_precision(self) -> Iterator[None]:
        rounded = self.precision == "bf16" and self.device.type != "cpu"
        with products_in(self.precision), torch.autocast(self.device.type, torch.bfloat16, enabled=rounded):
            yield

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[DecoderState, Memory]:
        with self._in_precision():
            return super().encode(source, source_lengths)

    def step(
        self, tokens: Int[Tensor, " N"], state: DecoderState, memory: Memory
    ) -> tuple[Float[Tensor, "N V"], DecoderState]:
        with self._in_precision():
            return super().step(tokens, state, memory)


def _prepared(model: Seq2Seq, precision: Precision) -> Seq2Seq:
    parameters = list(model.parameters())
    if parameters[0].dtype != torch.float32 or isinstance(model, InferenceSeq2Seq):
        return model
    copy = deepcopy(model, {id(parameter): parameter for parameter in parameters})
    copy.__class__ = InferenceSeq2Seq
    assert isinstance(copy, InferenceSeq2Seq)
    copy.precision = precision
    if model.device.type != "cpu":
        return copy
    replace_modules(copy)
    if precision != "float32" or prefers_onednn():  # PyTorch's float32 products take plain weights
        _pack(copy, _PACKED[precision])
    return copy


def _pack(model: nn.Module, kind: type[PackedLinear]) -> None:
    """Replace the model's linear layers, and those in its cells, by layers of a kind."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear):
                setattr(parent, name, kind(child.get_parameter("weight"), child.bias))
            elif isinstance(child, GatedCell) and type(child) in _CELLS:
                child.__class__ = _CELLS[type(child)]
                child.product = kind(child.weight, child.bias)


class PackedLinear(nn.Module):
    """A linear layer by oneDNN's product, whose weight is laid out for it when it is first used."""

    dtype = torch.float32

    def __init__(self, weight: nn.Parameter, bias: Any) -> None:
        super().__init__()
        self.weight, self.bias = weight, bias
        self.out_features, self.in_features = weight.shape

    def forward(self, inputs: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        outputs = self.multiply(inputs.reshape(-1, self.in_features)).to(inputs.dtype)
        return outputs.view(*inputs.shape[:-1], self.out_features)

    @cached_property
    def factors(self) -> tuple[Tensor, Tensor | None]:
        """The weight and the bias as the product takes them."""
        bias = None if self.bias is None else self.bias.detach().to(self.dtype)
        return torch_internals.blocks(self.weight.detach().to(self.dtype)), bias

    def multiply(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        """The products of rows with the weight, plus the bias."""
        return few_sizes(rows.to(self.dtype), lambda some: torch_internals.product(some, *self.factors))


class PackedBFloat16Linear(PackedLinear):
    """Factors in bfloat16, summed in float32."""

    dtype = torch.bfloat16


class PackedInt8Linear(PackedLinear):
    """Factors that are integers to ±127, times a scale of each row and of each output; their sums are exact."""

    @cached_property
    def factors(self) -> tuple[Int8[Tensor, "I O"], Float[Tensor, " O"]]:
        """The weight's integers, transposed, and the scales of the outputs."""
        integers, scales = in_bytes(self.weight.detach())
        return integers.t(), scales

    def multiply(self, rows: Float[Tensor, "N I"]) -> Float[Tensor, "N O"]:
        weight, of_outputs = self.factors
        integers, of_rows = in_bytes(rows)
        sums = few_sizes(integers, lambda some: torch_internals.byte_product(some, weight))
        outputs = sums.mul_(of_rows.unsqueeze(1)).mul_(of_outputs)
        return outputs if self.bias is None else outputs.add_(self.bias)


class InferenceGRUCell(FastGRUCell):
    product: PackedLinear

    def forward(self, inputs: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        return (gru_update(inputs, self.product(*state), *state),)


class InferenceLSTMCell(FastLSTMCell):
    product: PackedLinear

    def recurrent(self, hidden: Tensor) -> Tensor:
        return self.product(hidden)


_CELLS: dict[type[GatedCell], type[GatedCell]] = {FastGRUCell: InferenceGRUCell, FastLSTMCell: InferenceLSTMCell}
_PACKED = {"float32": PackedLinear, "bf16": PackedBFloat16Linear, "int8": PackedInt8Linear}
