"""The products of attention, query with key and weight with value, and windows of a long memory.

The gradient of a memory, keys or values, is one product over all steps (see `nmt.fast.shared_gradients`). For few
queries, such as one or those of a beam, a memory is read from its beginning to its end, because a long one does not
stay in the CPU's cache: for 64 × 200 vectors of 512 values and one query that takes 0.7 instead of 2 ms on one core.

Shapes: B sentences (any leading dimensions), T queries of each, S source positions, W positions of a window, X values
of a vector.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast.shared_gradients import collect, reused, total

FEW = 10  # queries of a sentence: as many as usual beams have
LARGE = 2**17  # values of a memory: with fewer there is little to gain


def inner_products(queries: Float[Tensor, "*B T X"], keys: Float[Tensor, "*B S X"]) -> Float[Tensor, "*B T S"]:
    """qᵀ k of each query with each key of its sentence."""
    return _Products.apply(queries, keys, True)  # type: ignore[no-untyped-call]


def weighted_sums(weights: Float[Tensor, "*B T S"], values: Float[Tensor, "*B S X"]) -> Float[Tensor, "*B T X"]:
    """Σ_s w_s v_s for each query."""
    return _Products.apply(weights, values, False)  # type: ignore[no-untyped-call]


class _Products(torch.autograd.Function):
    """Inner products, or weighted sums: the gradient of either's left factor is the other."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, memory: Tensor, inner: bool) -> Tensor:
        ctx.inner = inner
        ctx.save_for_backward(left, memory)
        return _inner_products(left, memory) if inner else _weighted_sums(left, memory)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:
        left, memory = ctx.saved_tensors
        of_left = _weighted_sums(gradient, memory) if ctx.inner else _inner_products(gradient, memory)
        of_memory = None
        if ctx.needs_input_grad[1]:
            of_memory = collect(memory, _memory_gradient, *((gradient, left) if ctx.inner else (left, gradient)))
        return of_left, of_memory, None


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
    rows = torch.arange(sentences * positions).view(sentences, 1, positions).expand_as(weights)
    firsts = positions * torch.arange(sentences * queries)
    return F.embedding_bag(
        rows.flatten(), values.flatten(0, 1), firsts, mode="sum", per_sample_weights=weights.flatten()
    ).view(sizes)


def _by_memory(queries: Tensor, memory: Tensor) -> bool:
    """Whether to read the memory from its beginning to its end."""
    return queries.shape[1] == 1 or (queries.shape[1] <= FEW and memory.numel() >= LARGE)


def _memory_gradient(weights: Tensor, vectors: Tensor) -> Tensor:
    """The gradient of a memory: the sum over queries of a value of (B T S) times a vector of (B T X)."""
    return weights.flatten(0, -3).mT @ vectors.flatten(0, -3)


def gather_windows(memory: Float[Tensor, "*B S X"], positions: Int[Tensor, "*#B T W"]) -> Float[Tensor, "*B T W X"]:
    """The memory's vectors at the positions of each of T queries.

    Autograd's gradient of a selection is as large as the memory. Computed at each of T steps, it makes the backward
    pass of a local attention O(T·S). Here all selections from a shared memory add to one gradient, in place.
    """
    return _Gather.apply(reused(memory), positions)  # type: ignore[no-untyped-call]


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, memory: Tensor, positions: Tensor) -> Tensor:
        *batch, length, size = memory.shape
        positions = positions.expand(*batch, -1, -1)
        first_rows = length * torch.arange(positions.flatten(0, -3).shape[0], device=memory.device)
        rows = (positions.flatten(0, -3) + first_rows[:, None, None]).flatten()
        ctx.node = memory.grad_fn
        ctx.save_for_backward(rows)
        return memory.flatten(0, -2).index_select(0, rows).view(*positions.shape, size)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None]:
        (rows,) = ctx.saved_tensors
        total(ctx.node).flatten(0, -2).index_add_(0, rows, gradient.flatten(0, -2))
        return None, None
