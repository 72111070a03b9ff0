"""vᵀ tanh(q + k) for each query with each key, in less time and in a memory that does not grow with their product.

Autograd would keep all the sums, B·T·S·A numbers. Here they are made again for the backward pass, one query of each
sentence at a time, and the keys' gradient is added up in place (see `nmt.kernels.shared`). And tanh x is 1 − 2σ(−2x),
because σ takes an eighth of tanh's time on a processor. Where keys have many uses, σ(−2(q + k)) = 1/(1 + e^2q · e^2k)
needs no exponential of each pair, only those of queries and keys, which takes 0.6 of the time.

Shapes: B sentences (any leading dimensions), T queries of each, S source positions, A alignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.kernels.shared import can_share, derived, is_shared, reused, total
from nmt.kernels.switch import fast

CHUNK = 2**18  # sums at a time: few enough for a core's cache, and no gaps in memory that only as many would fill
LARGEST = 20.0  # of a number whose exponential is made: e^2q · e^2k is then neither too large nor too small for float32


def additive_scores(
    query: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"], v: Float[Tensor, " A"]
) -> Float[Tensor, "*B T S"]:
    """vᵀ tanh(q + k) of each query with each key of its sentence."""
    if not (fast(query) and can_share()):
        return plain_additive_scores(query, keys, v)
    many = is_shared(keys) or query.shape[-2] > 1  # uses of each key
    return _AdditiveScores.apply(query, reused(keys), v, many)  # type: ignore[no-untyped-call]


def plain_additive_scores(
    query: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"], v: Float[Tensor, " A"]
) -> Float[Tensor, "*B T S"]:
    """The formula, for all pairs at once."""
    return (torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ v.unsqueeze(-1)).squeeze(-1)


class _Operands(NamedTuple):
    """What the sigmoids are made of: e^2q (B T A) and e^2k (B S A) where keys have many uses, else q and k."""

    query: Tensor
    keys: Tensor
    products: bool
    too_large: tuple[Tensor, Tensor, Tensor, Tensor] | None = None
    """q, k, and for which of them (B T), (B S) the exponential is out of range; None if it is for none."""


def _operands(query: Tensor, keys: Tensor, many: bool) -> _Operands:
    """Whether a pair's exponentials are in range depends on that pair alone, so that its score does, too."""
    made = derived(keys, _exponentials) if many and query.numel() and keys.numel() else None
    if made is None:
        return _Operands(query.flatten(0, -3), keys.flatten(0, -3), products=False)
    large_keys, any_key, factors = made
    large_queries = query.abs().amax(-1) > LARGEST
    too_large = None
    if any_key or bool(large_queries.any()):
        too_large = query.flatten(0, -3), keys.flatten(0, -3), large_queries.flatten(0, -2), large_keys.flatten(0, -2)
    return _Operands(_exponential(query).flatten(0, -3), factors.flatten(0, -3), True, too_large)


def _exponentials(keys: Tensor) -> tuple[Tensor, bool, Tensor]:
    large = keys.abs().amax(-1) > LARGEST
    return large, bool(large.any()), _exponential(keys)


def _exponential(x: Tensor) -> Tensor:
    """e^2x, of an x that is moved into its range."""
    return x.clamp(-LARGEST, LARGEST).mul_(2).exp_()


def _sigmoids(operands: _Operands) -> Iterator[tuple[slice, int, Tensor]]:
    """σ(−2(q + k)), (b S A), of some sentences' keys with the t-th query of each: which sentences, and t."""
    query, keys, products, too_large = operands
    together = max(1, CHUNK // max(1, keys.shape[1] * keys.shape[2]))
    one, memory = query.new_ones(()), keys.new_empty(min(together, len(keys)), *keys.shape[1:])  # for all of them
    for first in range(0, len(keys), together):
        some = slice(first, first + together)
        made = memory[: len(keys) - first]
        for t, q in enumerate((query if products else -2 * query)[some].split(1, dim=1)):
            if not products:
                yield some, t, torch.add(q, keys[some], alpha=-2, out=made).sigmoid_()
                continue
            torch.addcmul(one, q, keys[some], out=made).reciprocal_()
            if too_large is not None:
                _make_exact(made, t, *(x[some] for x in too_large))
            yield some, t, made


def _make_exact(made: Tensor, t: int, query: Tensor, keys: Tensor, large_queries: Tensor, large_keys: Tensor) -> None:
    """Replace what is out of range among the t-th query's sigmoids, in sentences that have any."""
    pairs = large_queries[:, t, None] | large_keys
    [some] = pairs.any(dim=1).nonzero(as_tuple=True)
    if len(some):
        exact = (-2 * (query[some, t, None] + keys[some])).sigmoid_()
        made[some] = torch.where(pairs[some].unsqueeze(-1), exact, made[some])


class _AdditiveScores(torch.autograd.Function):
    """Of few sentences at a time, so that each operation finds in a core's cache what the one before it made."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, v: Tensor, many: bool) -> Tensor:
        operands = _operands(query, keys, many)
        ctx.sizes, ctx.node, ctx.products = query.shape, keys.grad_fn, operands.products
        ctx.save_for_backward(v, operands.query, operands.keys, *(operands.too_large or ()))
        scores = query.new_empty(*operands.query.shape[:2], keys.shape[-2])
        for some, t, s in _sigmoids(operands):
            scores[some, t] = torch.mv(s.flatten(0, 1), -2 * v).view(-1, keys.shape[-2])
        return scores.add_(v.sum()).view(*query.shape[:-1], keys.shape[-2])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor, None]:
        v, query, keys, *too_large = ctx.saved_tensors
        operands = _Operands(query, keys, ctx.products, tuple(too_large) or None)
        gradient = gradient.flatten(0, -3)
        of_query, of_v = torch.empty_like(query), torch.zeros_like(v)
        of_keys = total(ctx.node).flatten(0, -3) if ctx.needs_input_grad[1] else None
        for some, t, s in _sigmoids(operands):
            g = gradient[some, t]
            of_v.addmv_(s.flatten(0, 1).t(), g.flatten())
            of_sum = torch.ops.aten.sigmoid_backward.grad_input(g.unsqueeze(2), s, grad_input=s)  # without 4v
            torch.sum(of_sum, dim=1, out=of_query[some, t])
            if of_keys is not None:
                of_keys[some].addcmul_(of_sum, 4 * v)
        return (of_query * (4 * v)).view(ctx.sizes), None, gradient.sum() - 2 * of_v, None
