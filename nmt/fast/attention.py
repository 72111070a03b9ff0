"""The products of attention, query with key and weight with value, additive scores, and windows of a long memory.

The gradient of a memory, keys or values, is one product over all steps, or a sum in place (see
`nmt.fast.shared_gradients`).

Shapes: B sentences (any leading dimensions), T queries of each, S source positions, W positions of a window, X values
of a vector, A alignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast.shared_gradients import collect, reused, total

FEW = 10  # queries of a sentence: as many as usual beams have
LARGE = 2**17  # values of a memory: with fewer there is little to gain
CHUNK = 2**18  # sums at a time: few enough for a core's cache, and for no gaps in memory that only as many would fill


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
    """Whether to read the memory from its beginning to its end: a long one does not stay in the CPU's cache.

    For 64 × 200 vectors of 512 values and one query that takes 0.7 instead of 2 ms on one core.
    """
    return queries.shape[1] == 1 or (queries.shape[1] <= FEW and memory.numel() >= LARGE)


def _memory_gradient(weights: Tensor, vectors: Tensor) -> Tensor:
    """The gradient of a memory: the sum over queries of a value of (B T S) times a vector of (B T X)."""
    return weights.flatten(0, -3).mT @ vectors.flatten(0, -3)


def additive_scores(
    query: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"], v: Float[Tensor, " A"]
) -> Float[Tensor, "*B T S"]:
    """vᵀ tanh(q + k) of each query with each key of its sentence, in a memory that does not grow with their product.

    Autograd would keep all the sums, B·T·S·A values. Here they are computed again for the backward pass, one query of
    each sentence at a time. tanh x is 1 − 2σ(−2x), because σ takes an eighth of tanh's time on a CPU.
    """
    return _AdditiveScores.apply(query, reused(keys), v)  # type: ignore[no-untyped-call]


def _sigmoids(query: Tensor, keys: Tensor) -> Iterator[tuple[slice, int, Tensor]]:
    """σ(−2(q + k)), (b S A), of some sentences' keys with the t-th query of each: which sentences, and t."""
    at_once = max(1, CHUNK // max(1, keys.shape[1] * keys.shape[2]))
    memory = keys.new_empty(min(at_once, len(keys)), *keys.shape[1:])
    for first in range(0, len(keys), at_once):
        sentences = slice(first, first + at_once)
        for t, q in enumerate((-2 * query[sentences]).split(1, dim=1)):
            yield sentences, t, torch.add(q, keys[sentences], alpha=-2, out=memory[: len(q)]).sigmoid_()


class _AdditiveScores(torch.autograd.Function):
    """Few sentences at a time, so that each operation finds the results of the one before in a core's cache."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        ctx.node = keys.grad_fn
        ctx.save_for_backward(query, keys, v)
        sizes, query, keys = (*query.shape[:-1], keys.shape[-2]), query.flatten(0, -3), keys.flatten(0, -3)
        scores = query.new_empty(*query.shape[:2], keys.shape[1])
        for sentences, t, s in _sigmoids(query, keys):
            scores[sentences, t] = torch.mv(s.flatten(0, 1), -2 * v).view(-1, keys.shape[1])
        return scores.add_(v.sum()).view(sizes)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor]:
        query, keys, v = ctx.saved_tensors
        sizes, query, keys, gradient = query.shape, query.flatten(0, -3), keys.flatten(0, -3), gradient.flatten(0, -3)
        of_query, of_v = torch.empty_like(query), torch.zeros_like(v)
        of_keys = total(ctx.node).flatten(0, -3) if ctx.needs_input_grad[1] else None
        for sentences, t, s in _sigmoids(query, keys):
            g = gradient[sentences, t]
            of_v.addmv_(s.flatten(0, 1).t(), g.flatten())
            of_sum = torch.ops.aten.sigmoid_backward.grad_input(g.unsqueeze(2), s, grad_input=s)  # without 4v
            torch.sum(of_sum, dim=1, out=of_query[sentences, t])
            if of_keys is not None:
                of_keys[sentences].addcmul_(of_sum, 4 * v)
        return (of_query * (4 * v)).view(sizes), None, gradient.sum() - 2 * of_v


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
