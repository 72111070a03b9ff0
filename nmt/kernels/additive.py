"""vᵀ tanh(q + k) for each query with each key, in less time and in a memory that does not grow with their product.

Autograd would keep all the sums, B·T·S·A numbers. Here they are made again for the backward pass, one query of each
sentence at a time, and the keys' gradient is added up in place (see `nmt.kernels.shared`). And tanh x is 1 − 2σ(−2x),
because σ takes an eighth of tanh's time on a processor. Where keys have many uses, σ(−2(q + k)) = 1/(1 + e^2q · e^2k)
needs no exponential of each pair, only those of queries and keys, which takes 0.6 of the time.

Shapes: B sentences (any leading dimensions), T queries of each, S source positions, A alignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.kernels.shared import can_share, derived, reused, total
from nmt.kernels.switch import fast

CHUNK = 2**18  # sums at a time: few enough for a core's cache, and no gaps in memory that only as many would fill
LARGEST = 20.0  # of a number whose exponential is made: e^2q · e^2k is then neither too large nor too small for float32


def additive_scores(
    query: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"], v: Float[Tensor, " A"]
) -> Float[Tensor, "*B T S"]:
    """vᵀ tanh(q + k) of each query with each key of its sentence."""
    if not (fast(query) and can_share()):
        return plain_additive_scores(query, keys, v)
    return _AdditiveScores.apply(query, reused(keys), v)  # type: ignore[no-untyped-call]


def plain_additive_scores(
    query: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"], v: Float[Tensor, " A"]
) -> Float[Tensor, "*B T S"]:
    """The formula, for all pairs at once."""
    return torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ v


def _factors(query: Tensor, keys: Tensor) -> tuple[Tensor, Tensor] | None:
    """e^2q and e^2k, of keys that have many uses, if their products are certain to be in range."""
    made = derived(keys, _exponentials)
    if made is None or query.numel() == 0 or bool(query.abs().amax() > LARGEST):
        return None
    return (2 * query).exp_(), made


def _exponentials(keys: Tensor) -> Tensor | None:
    return None if keys.numel() == 0 or bool(keys.abs().amax() > LARGEST) else (2 * keys).exp_()


def _sigmoids(query: Tensor, keys: Tensor, products: bool) -> Iterator[tuple[slice, int, Tensor]]:
    """σ(−2(q + k)), (b S A), of some sentences' keys with the t-th query of each: which sentences, and t.

    `products`: query and keys are e^2q and e^2k.
    """
    together = max(1, CHUNK // max(1, keys.shape[1] * keys.shape[2]))
    one, memory = query.new_ones(()), keys.new_empty(min(together, len(keys)), *keys.shape[1:])  # for all of them
    for first in range(0, len(keys), together):
        some = slice(first, first + together)
        made = memory[: len(keys) - first]
        for t, q in enumerate((query if products else -2 * query)[some].split(1, dim=1)):
            if products:
                yield some, t, torch.addcmul(one, q, keys[some], out=made).reciprocal_()
            else:
                yield some, t, torch.add(q, keys[some], alpha=-2, out=made).sigmoid_()


class _AdditiveScores(torch.autograd.Function):
    """Of few sentences at a time, so that each operation finds in a core's cache what the one before it made."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        sizes, factors, ctx.node = (*query.shape[:-1], keys.shape[-2]), _factors(query, keys), keys.grad_fn
        ctx.products = factors is not None
        query, keys = factors or (query, keys)
        ctx.save_for_backward(query, keys, v)
        query, keys = query.flatten(0, -3), keys.flatten(0, -3)
        scores = query.new_empty(*query.shape[:2], keys.shape[1])
        for some, t, s in _sigmoids(query, keys, ctx.products):
            scores[some, t] = torch.mv(s.flatten(0, 1), -2 * v).view(-1, keys.shape[1])
        return scores.add_(v.sum()).view(sizes)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor]:
        query, keys, v = ctx.saved_tensors
        sizes, query, gradient = query.shape, query.flatten(0, -3), gradient.flatten(0, -3)
        of_query, of_v = torch.empty_like(query), torch.zeros_like(v)
        of_keys = total(ctx.node).flatten(0, -3) if ctx.needs_input_grad[1] else None
        for some, t, s in _sigmoids(query, keys.flatten(0, -3), ctx.products):
            g = gradient[some, t]
            of_v.addmv_(s.flatten(0, 1).t(), g.flatten())
            of_sum = torch.ops.aten.sigmoid_backward.grad_input(g.unsqueeze(2), s, grad_input=s)  # but for 4v
            torch.sum(of_sum, dim=1, out=of_query[some, t])
            if of_keys is not None:
                of_keys[some].addcmul_(of_sum, 4 * v)
        return (of_query * (4 * v)).view(sizes), None, gradient.sum() - 2 * of_v
