"""vᵀ tanh(q + k) of each query with each key, in a memory that does not grow with their product.

Autograd would keep all the sums, B·T·S·A values. Here they are computed again for the backward pass, one query of each
sentence at a time, and the keys' gradient is summed in place (see `nmt.fast.shared_gradients`). tanh x is
1 − 2σ(−2x), because σ takes an eighth of tanh's time on a CPU.

Shapes: B sentences (any leading dimensions), T queries of each, S source positions, A alignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast.shared_gradients import reused, total

CHUNK = 2**18  # sums at a time: few enough for a core's cache, and for no gaps in memory that only as many would fill


def additive_scores(
    query: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"], v: Float[Tensor, " A"]
) -> Float[Tensor, "*B T S"]:
    """vᵀ tanh(q + k) of each query with each key of its sentence."""
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
