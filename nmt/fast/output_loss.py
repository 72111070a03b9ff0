"""The output layer with its cross-entropy, some hundred tokens at a time: a batch's logits never exist at once.

Each chunk's gradient is computed in the forward pass, from its logits and in their place; autograd would keep N·V
values for the backward pass, and compute as many again.

With `counts`, as sampled softmax needs them, each of the V outputs counts as that many vocabulary entries with logits
like its own (targets count once): see `nmt.fast.sampled_softmax`.

Shapes: N target tokens, F what the output layer multiplies, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast.products import as_factor, has_kernel, is_fast, kernel_product, padded, weight_gradient
from nmt.fast.sampled_softmax import VocabularySampler
from nmt.model.layers import Linear
from nmt.training.loss import BatchLoss, Loss

CHUNK = 512  # enough for a fast product
ROUNDED_CHUNK = 2 * CHUNK  # of values that take half the memory


class FastBatchLoss(BatchLoss):
    """The loss of a batch by `output_loss`; with a `sampler` it is an estimate, of a part of the vocabulary."""

    sampler: VocabularySampler | None = None

    def output_loss(self, features: Tensor, targets: Tensor) -> Loss:
        if not isinstance(self.model.decoder.output, Linear):
            return super().output_loss(features, targets)
        weight, bias, targets, counts = self.output_layer(targets)
        loss = output_loss if is_fast(features) else padded_output_loss
        return loss(features, weight, bias, targets, self.smoothing, counts=counts)

    def output_layer(self, targets: Tensor, *, padded: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """The output layer's weight and bias, the targets as positions among its outputs, and the outputs' counts."""
        output = self.model.decoder.output
        if self.sampler is None:
            return output.weight, output.bias, targets, None
        sample = self.sampler.sample(targets, padded=padded)
        weight = F.embedding(sample.tokens, output.weight)
        return weight, output.bias[sample.tokens], sample.targets, sample.counts.to(weight.dtype)


def output_loss(
    features: Float[Tensor, "N F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    counts: Float[Tensor, " V"] | None = None,
) -> Loss:
    """The loss of `nmt.training.loss.BatchLoss.output_loss`, on a CPU."""
    return Loss(*_OutputLoss.apply(features, weight, bias, targets, smoothing, counts))  # type: ignore[no-untyped-call]


def padded_output_loss(
    features: Float[Tensor, "N F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    real: Bool[Tensor, " N"] | None = None,
    counts: Float[Tensor, " V"] | None = None,
) -> Loss:
    """The same by autograd, without the tokens that are not `real`: for CUDA graphs, which read padding too."""
    logits = F.linear(features, weight, bias if counts is None else bias + counts.log())
    log_probabilities = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=1)
    nll = smoothed = _sum_of(-log_probabilities.gather(1, targets.unsqueeze(1)).squeeze(1), real)
    if smoothing:
        if counts is None:
            mean = log_probabilities.mean(dim=1)
        else:
            shares = _shares(counts)
            mean = log_probabilities @ shares - shares @ counts.log()
        smoothed = (1 - smoothing) * nll - smoothing * _sum_of(mean, real)
    return Loss(smoothed, nll.detach())


def _sum_of(values: Float[Tensor, " N"], real: Bool[Tensor, " N"] | None) -> Float[Tensor, ""]:
    return values.sum() if real is None else (values * real).sum()


def _shares(counts: Float[Tensor, " V"]) -> Float[Tensor, " V"]:
    """The share of the whole vocabulary that each output counts as."""
    return counts / counts.sum()


def _to_gradient(
    logits: Float[Tensor, "N V"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    counts: Tensor | None,
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor,
) -> Loss:
    """The loss's gradient of the logits in their place; returns the loss without what `_mean_of_logits` adds.

    A row's log normalizer is z − log p of any token, such as the reference. Where p is too small for the format, the
    logits are computed once more. In bfloat16, which the products before and behind it give and take, all that enters
    the NLL is the rounded probability's relative error, of 2⁻⁹ at most.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    rows = torch.arange(len(targets))
    of_references = logits[rows, targets].to(wide)
    torch.softmax(logits, dim=1, out=logits)
    reached = logits[rows, targets].to(wide)
    normalizers = of_references - reached.log()
    lost = (reached < torch.finfo(wide).tiny).nonzero().squeeze(1)
    if len(lost):
        normalizers[lost] = kernel_product(inputs[lost], weight.t(), bias).to(wide).logsumexp(dim=1)
    nll = (normalizers - of_references).sum()
    if smoothing:  # p − ε/V, and 1 − ε less at the target
        logits.sub_(smoothing * (1 / logits.shape[1] if counts is None else _shares(counts)))
    logits[rows, targets] -= 1 - smoothing
    return Loss((1 - smoothing) * nll + smoothing * normalizers.sum(), nll)


def _sum(losses: Sequence[Loss]) -> Loss:
    return Loss(*(torch.stack(parts).sum() for parts in zip(*losses, strict=True)))


def _mean_of_logits(features: Tensor, weight: Tensor, bias: Tensor, counts: Tensor | None) -> Tensor:
    """The logits' mean over the vocabulary, summed over tokens: of the features' sum, by the mean row of weights."""
    if counts is None:
        return features.sum(dim=0) @ weight.mean(dim=0) + len(features) * bias.mean()
    shares = _shares(counts)
    return features.sum(dim=0) @ (shares @ weight) + len(features) * (shares @ bias)


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        counts: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        needs_gradient = any(ctx.needs_input_grad)
        of_features, of_weight, of_bias = torch.empty_like(features), None, torch.zeros_like(bias)
        factors = as_factor(features)
        losses = []
        if smoothing:
            mean = -smoothing * _mean_of_logits(features, weight, bias, counts)
            losses.append(Loss(mean, torch.zeros_like(mean)))
        if counts is not None:
            bias = bias + counts.log()
        size = ROUNDED_CHUNK if factors.dtype == torch.bfloat16 else CHUNK
        for begin in range(0, max(1, len(features)), size):
            rows = slice(begin, begin + size)
            inputs, chunk_targets = factors[rows], targets[rows]
            if has_kernel(inputs):
                inputs = padded(inputs)
            logits = kernel_product(inputs, weight.t(), bias)
            real = logits[: len(chunk_targets)]
            losses.append(_to_gradient(real, chunk_targets, smoothing, counts, inputs, weight, bias))
            if needs_gradient:
                logits[len(chunk_targets) :] = 0  # rows that were added
                of_bias += logits.sum(dim=0)
                of_inputs, of_chunk = kernel_product(logits, weight), weight_gradient(inputs, logits)
                of_features[rows] = of_inputs[: len(chunk_targets)]
                of_weight = of_chunk if of_weight is None else of_weight.add_(of_chunk)
                del of_inputs, of_chunk
            del logits, real  # free the memory of each chunk before the next one needs as much
        if needs_gradient:
            ctx.save_for_backward(of_features, of_weight, of_bias)
        smoothed, nll = _sum(losses)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = ctx.saved_tensors if gradient == 1 else [gradient * x for x in ctx.saved_tensors]
        return *gradients, None, None, None
