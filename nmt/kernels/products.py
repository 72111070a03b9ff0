"""The products of attention, query with key and weight with value, for queries that come one by one or all at once.

The gradient of a memory, keys or values, is one product over all steps (see `nmt.kernels.shared`). Few queries, such as
one or those of a beam, have kernels that read a memory from its beginning to its end, because a long one does not stay
in the processor's cache: for 64 × 200 vectors of 512 numbers and one query they take 0.7 instead of 2 ms on one core.

Shapes: B sentences (any leading dimensions), T queries of each, S source positions, X numbers of a vector.
`torch.matmul` is the plain twin.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.kernels.shared import collect
from nmt.kernels.switch import fast

FEW = 10  # queries of a sentence: as many as usual beams have
LARGE = 2**17  # numbers of a memory: with fewer there is little to gain, or nothing


def inner_products(queries: Float[Tensor, "*B T X"], keys: Float[Tensor, "*B S X"]) -> Float[Tensor, "*B T S"]:
    """qᵀ k of each query with each key of its sentence."""
    if not fast(queries):
        return queries @ keys.transpose(-2, -1)
    return _InnerProducts.apply(queries, keys)  # type: ignore[no-untyped-call]


def weighted_sums(weights: Float[Tensor, "*B T S"], values: Float[Tensor, "*B S X"]) -> Float[Tensor, "*B T X"]:
    """Σ_s w_s v_s for each query."""
    if not fast(weights):
        return weights @ values
    return _WeightedSums.apply(weights, values)  # type: ignore[no-untyped-call]


def _inner_products(queries: Tensor, keys: Tensor) -> Tensor:
    sizes = *queries.shape[:-1], keys.shape[-2]
    queries, keys = queries.flatten(0, -3), keys.flatten(0, -3)
    return ((keys @ queries.mT).mT if _by_memory(queries, keys) else queries @ keys.mT).view(sizes)


def _weighted_sums(weights: Tensor, values: Tensor) -> Tensor:
    sizes = *weights.shape[:-1], values.shape[-1]
    weights, values = weights.flatten(0, -3), values.flatten(0, -3)
    if not _by_memory(weights, values):
        return (weights @ values).view(sizes)
    sentences, queries, positions = weights.shape
    # Each query is a bag of its sentence's rows.
    places = torch.arange(sentences * positions).view(sentences, 1, positions).expand_as(weights)
    firsts = positions * torch.arange(sentences * queries)
    return F.embedding_bag(
        places.flatten(), values.flatten(0, 1), firsts, mode="sum", per_sample_weights=weights.flatten()
    ).view(sizes)


def _by_memory(queries: Tensor, memory: Tensor) -> bool:
    """Whether to read a memory from its beginning to its end."""
    return queries.shape[1] == 1 or (queries.shape[1] <= FEW and memory.numel() >= LARGE)


class _InnerProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys)
        return _inner_products(queries, keys)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        queries, keys = ctx.saved_tensors
        of_keys = collect(keys, _of_memory, gradient, queries) if ctx.needs_input_grad[1] else None
        return _weighted_sums(gradient, keys), of_keys


class _WeightedSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor) -> Tensor:
        ctx.save_for_backward(weights, values)
        return _weighted_sums(weights, values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        weights, values = ctx.saved_tensors
        of_values = collect(values, _of_memory, weights, gradient) if ctx.needs_input_grad[1] else None
        return _inner_products(gradient, values), of_values


def _of_memory(weights: Tensor, vectors: Tensor) -> Tensor:
    """Each query's part of a position's gradient is a number, of (B T S), times a vector, of (B T X)."""
    return weights.flatten(0, -3).mT @ vectors.flatten(0, -3)
