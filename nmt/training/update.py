"""One update of the weights: teacher forcing, loss, gradient, optimizer step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from nmt.config import TrainingConfig
from nmt.data.batching import Batch, send
from nmt.model.linear import products_in_bf16
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loss import Loss
from nmt.training.output_loss import output_loss
from nmt.training.schedules import teacher_forcing_ratio


def make_optimizer(model: Seq2Seq, config: TrainingConfig) -> torch.optim.Optimizer:
    """Adam or AdamW, in PyTorch's fused form."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optimizer]
    return kind(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)


def update(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    config: TrainingConfig,
    rate: float,
    done: int,
) -> float:
    """Update the weights by the gradient of the batches' mean loss per target token; returns their summed NLL, in nats.

    If the loss or the gradient is not finite, no weight is changed, and what is returned is not a number. The mean is
    over the tokens of all batches, so that accumulating n of them equals one batch n times as large.
    `rate` is the learning rate, `done` the number of updates before this one.
    """
    tokens = sum(batch.target_tokens for batch in batches)
    forcing = config.teacher_forcing
    ratio = teacher_forcing_ratio(forcing, done)
    optimizer.zero_grad()
    nll = torch.zeros((), device=model.device)
    bf16, device = config.precision == "bf16", model.device.type
    for batch in batches:
        use_reference = toss(batch.target_input.shape, ratio, per_token=forcing.granularity == "token")
        with products_in_bf16(bf16):
            with torch.autocast(device, torch.bfloat16, enabled=bf16 and device != "cpu"):
                loss = batch_loss(model, batch, config.label_smoothing, use_reference)
            (loss.smoothed / tokens).backward()
        nll += loss.nll
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    loss_and_norm: list[float] = torch.stack((nll, norm)).tolist()  # the one time that a GPU is waited for
    if not all(map(math.isfinite, loss_and_norm)):
        return math.nan
    if config.clip_norm is not None:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), config.clip_norm, norm)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return loss_and_norm[0]


def batch_loss(
    model: Seq2Seq, batch: Batch, smoothing: float, use_reference: Bool[Tensor, "B T"] | None = None
) -> Loss:
    """The loss of a batch, summed over its target tokens. `use_reference` is `Decoder.forward`'s."""
    places = send(batch.places, model.device)  # found on the CPU: for a GPU's own count one would have to wait
    batch = batch.to(model.device)
    if use_reference is not None:
        use_reference = use_reference.to(model.device)
    features, _ = model(batch.source, batch.source_lengths, batch.target_input, places, use_reference)
    output = model.decoder.output
    return output_loss(features, output.weight, output.bias, batch.target_output.flatten()[places], smoothing)


def toss(shape: Sequence[int], ratio: float, *, per_token: bool) -> Bool[Tensor, "B T"] | None:
    """Where the decoder reads the reference, or None for everywhere: a coin for each token, or one for the batch."""
    if ratio >= 1:
        return None
    coins = torch.rand(tuple(shape)) if per_token else torch.rand(1).expand(tuple(shape))
    return coins < ratio
