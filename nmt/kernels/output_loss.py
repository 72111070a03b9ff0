"""The output layer with its cross-entropy, some hundred tokens at a time: a batch's logits never exist at once.

Each chunk's gradient is made in the forward pass, of its logits and in their place; autograd would keep N·V numbers for
the backward pass, and make as many again. Updates are 1.3 times (Bahdanau) to 1.8 times as fast by it.

Shapes: N target tokens, F what the output layer reads, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.kernels.byte_products import goes_in_bytes, gradients_in_bytes, logits_in_bytes
from nmt.kernels.dropout import current_generator
from nmt.kernels.linear import as_factor, has_kernel, kernel_product, padded, weight_gradient
from nmt.kernels.switch import fast

# Even numbers of tokens, so that the two readings of R-Drop stay together.
CHUNK = 512  # enough for a fast product
ROUNDED_CHUNK = 2 * CHUNK  # of numbers that take half the memory
CACHED = 64  # whose logits, in float32, stay in a core's cache


class Loss(NamedTuple):
    """Sums over target tokens, in nats."""

    smoothed: Float[Tensor, ""]  # what training minimises
    nll: Float[Tensor, ""]  # negative log-likelihood of the reference, of which perplexity is made


def output_loss(
    features: Float[Tensor, "N F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    r_drop: float | None = None,
    stand_for: Float[Tensor, " V"] | None = None,
) -> Loss:
    """`plain_output_loss`, of some hundred tokens at a time."""
    if not fast(features):
        return plain_output_loss(features, weight, bias, targets, smoothing, r_drop, stand_for=stand_for)
    made = _OutputLoss.apply(features, weight, bias, targets, smoothing, r_drop, stand_for)  # type: ignore[no-untyped-call]
    return Loss(*made)


def plain_output_loss(
    features: Float[Tensor, "N F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    r_drop: float | None = None,
    counted: Bool[Tensor, " N"] | None = None,
    stand_for: Float[Tensor, " V"] | None = None,
) -> Loss:
    """The cross-entropy of the output layer's logits with the targets; of bfloat16 logits in float32.

    With `counted`, the loss of other tokens is left out.

    With `r_drop` = α, rows 2i and 2i + 1 are what dropout made of one token in two readings, p and q (Wu et al. 2021,
    equation 4). The loss is half of the paper's, so that it is the plain one where p = q:
    ½ (CE(p) + CE(q)) + α/4 (KL(p‖q) + KL(q‖p)).

    With `stand_for`, each type stands for so many types with logits like its own. Targets stand for themselves alone.
    """
    logits = F.linear(features, weight, bias if stand_for is None else bias + stand_for.log())
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if r_drop is None:
        return cross_entropy(logits, targets, smoothing, counted, stand_for)
    log_probabilities = logits.log_softmax(dim=1)
    loss = summed(log_probabilities, targets, smoothing, counted, stand_for)
    p, q = log_probabilities[0::2], log_probabilities[1::2]
    divergence = ((p.exp() - q.exp()) * (p - q)).sum(dim=1)  # KL(p‖q) + KL(q‖p)
    divergence = _sum_of(divergence, None if counted is None else counted[0::2])
    return Loss(loss.smoothed / 2 + r_drop / 4 * divergence, loss.nll / 2)


def cross_entropy(
    logits: Float[Tensor, "N V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    counted: Bool[Tensor, " N"] | None = None,
    stand_for: Float[Tensor, " V"] | None = None,
) -> Loss:
    """(1 − ε) · −log p(y) + ε · the mean of −log p over the vocabulary (Szegedy et al. 2016, section 7)."""
    return summed(logits.log_softmax(dim=1), targets, smoothing, counted, stand_for)


def summed(
    log_probabilities: Float[Tensor, "N V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    counted: Bool[Tensor, " N"] | None = None,
    stand_for: Float[Tensor, " V"] | None = None,
) -> Loss:
    """The same of log-probabilities."""
    nll = -_sum_of(log_probabilities.gather(1, targets.unsqueeze(1)).squeeze(1), counted)
    if smoothing == 0:
        return Loss(nll, nll.detach())
    if stand_for is None:
        mean = log_probabilities.mean(dim=1)
    else:
        shares = _shares(stand_for)
        mean = log_probabilities @ shares - shares @ stand_for.log()
    uniform = -_sum_of(mean, counted)
    return Loss((1 - smoothing) * nll + smoothing * uniform, nll.detach())


def _sum_of(numbers: Float[Tensor, " N"], counted: Bool[Tensor, " N"] | None) -> Float[Tensor, ""]:
    return numbers.sum() if counted is None else (numbers * counted).sum()


def _shares(stand_for: Float[Tensor, " V"]) -> Float[Tensor, " V"]:
    """What part of all types each stands for."""
    return stand_for / stand_for.sum()


def _make_probabilities(
    logits: Float[Tensor, "N V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    inputs: Float[Tensor, "P F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
) -> Loss:
    """Probabilities in the place of the logits; returns the loss without what `_mean_of_logits` adds.

    A row's log normalizer is z − log p of any of its types, such as the reference. Where p is too small for the format,
    the logits are computed once more. In bfloat16, which the products before and behind it give and take, all that
    enters the NLL is the rounded probability's relative error, of 2⁻⁹ at most.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    places = targets.unsqueeze(1)
    of_references = logits.gather(1, places).squeeze(1).to(wide)
    torch.softmax(logits, dim=1, out=logits)
    reached = logits.gather(1, places).squeeze(1).to(wide)
    normalizers = of_references - reached.log()
    lost = (reached < torch.finfo(wide).tiny).nonzero().squeeze(1)
    if len(lost):
        normalizers[lost] = _logits(inputs[lost], weight, bias).to(wide).logsumexp(dim=1)
    nll = (normalizers - of_references).sum()
    return Loss((1 - smoothing) * nll + smoothing * normalizers.sum(), nll)


def _subtract_targets(
    probabilities: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float, stand_for: Tensor | None
) -> None:
    """The loss's gradient of the logits, in the place of the probabilities: p − ε/V, and 1 − ε less at the target."""
    if smoothing:
        probabilities.sub_(smoothing * (1 / probabilities.shape[1] if stand_for is None else _shares(stand_for)))
    probabilities[torch.arange(len(targets)), targets] -= 1 - smoothing


def _read_twice(
    logits: Float[Tensor, "N V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    r_drop: float,
    stand_for: Tensor | None,
) -> Loss:
    """The loss with `r_drop`, and its gradient of the logits, in their place.

    With r = log p − log q, KL(p‖q) + KL(q‖p) has the gradient p (r − KL(p‖q)) + p − q of p's logits, and
    q (−r − KL(q‖p)) + q − p of q's.
    """
    losses = []
    for own, wanted in zip(logits.split(CACHED), targets.split(CACHED), strict=True):
        log_probabilities = own.to(torch.promote_types(own.dtype, torch.float32)).log_softmax(dim=1)
        loss = summed(log_probabilities, wanted, smoothing, None, stand_for)
        probabilities = log_probabilities.exp()
        p, q = probabilities[0::2], probabilities[1::2]
        ratio = log_probabilities[0::2] - log_probabilities[1::2]
        by_p, by_q = p * ratio, q * ratio
        p_from_q, q_from_p = by_p.sum(dim=1, keepdim=True), -by_q.sum(dim=1, keepdim=True)
        losses.append(Loss(loss.smoothed / 2 + r_drop / 4 * (p_from_q.sum() + q_from_p.sum()), loss.nll / 2))
        difference = p - q
        by_p.add_(difference)
        by_q.add_(difference)
        p.mul_(1 - r_drop / 2 * p_from_q).add_(by_p, alpha=r_drop / 2)
        q.mul_(1 - r_drop / 2 * q_from_p).sub_(by_q, alpha=r_drop / 2)
        _subtract_targets(probabilities, wanted, smoothing, stand_for)
        own.copy_(probabilities.div_(2))
    return _sum(losses)


def _sum(losses: Sequence[Loss]) -> Loss:
    return Loss(*(torch.stack(parts).sum() for parts in zip(*losses, strict=True)))


def _mean_of_logits(
    features: Float[Tensor, "N F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    stand_for: Float[Tensor, " V"] | None,
) -> Tensor:
    """The logits' mean over the vocabulary, summed over tokens: of the features' sum, by the mean row of weights."""
    if stand_for is None:
        return features.sum(dim=0) @ weight.mean(dim=0) + len(features) * bias.mean()
    shares = _shares(stand_for)
    return features.sum(dim=0) @ (shares @ weight) + len(features) * (shares @ bias)


def _logits(inputs: Float[Tensor, "N F"], weight: Float[Tensor, "V F"], bias: Float[Tensor, " V"]) -> Tensor:
    if goes_in_bytes(inputs, weight):
        return logits_in_bytes(inputs, weight, bias)
    return kernel_product(inputs, weight.t(), bias)


def _gradients(
    inputs: Float[Tensor, "N F"], of_logits: Float[Tensor, "N V"], weight: Float[Tensor, "V F"]
) -> tuple[Float[Tensor, "N F"], Float[Tensor, "V F"]]:
    """Those of the inputs and of the weight. May overwrite `of_logits`."""
    if goes_in_bytes(of_logits, weight):
        return gradients_in_bytes(inputs, of_logits, weight, current_generator())
    return kernel_product(of_logits, weight), weight_gradient(inputs, of_logits)


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        r_drop: float | None,
        stand_for: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        wants_gradient = any(ctx.needs_input_grad)
        of_features, of_weight, of_bias = torch.empty_like(features), None, torch.zeros_like(bias)
        factors = as_factor(features)
        in_bf16 = factors.dtype == torch.bfloat16
        losses = []
        if smoothing and r_drop is None:
            mean = -smoothing * _mean_of_logits(features, weight, bias, stand_for)
            losses.append(Loss(mean, torch.zeros_like(mean)))
        if stand_for is not None:
            bias = bias + stand_for.log()
        size = ROUNDED_CHUNK if in_bf16 else CHUNK
        for begin in range(0, max(1, len(features)), size):
            own = slice(begin, begin + size)
            inputs, wanted = factors[own], targets[own]
            if has_kernel(inputs) or goes_in_bytes(inputs, weight):
                inputs = padded(inputs)
            logits = _logits(inputs, weight, bias)
            real = logits[: len(wanted)]
            if r_drop is not None:
                losses.append(_read_twice(real, wanted, smoothing, r_drop, stand_for))
            else:
                losses.append(_make_probabilities(real, wanted, smoothing, inputs, weight, bias))
                if wants_gradient:
                    _subtract_targets(real, wanted, smoothing, stand_for)
            if wants_gradient:
                logits[len(wanted) :] = 0  # rows that were added
                of_bias += logits.sum(dim=0)
                of_inputs, of_chunk = _gradients(inputs, logits, weight)
                of_features[own] = of_inputs[: len(wanted)]
                of_weight = of_chunk if of_weight is None else of_weight.add_(of_chunk)
                del of_inputs, of_chunk
            del logits, real  # free the memory of each chunk before the next one needs as much
        if wants_gradient:
            ctx.save_for_backward(of_features, of_weight, of_bias)
        smoothed, nll = _sum(losses)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.saved_tensors if gradient == 1 else [gradient * x for x in ctx.saved_tensors]
        return *found, None, None, None, None
