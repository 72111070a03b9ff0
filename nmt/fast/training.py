"""Training with the fast modules: the function that adds a batch's gradient to the weights'."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt.acceleration import GradientFunction, Precision
from nmt.data.batching import Batch
from nmt.fast.cuda_graphs import CUDAGraphRunner
from nmt.fast.modules import replace_modules
from nmt.fast.output_loss import FastBatchLoss
from nmt.fast.processor import keep_freed_memory
from nmt.fast.products import is_fast, products_in
from nmt.fast.sampled_softmax import VocabularySampler
from nmt.fast.worker import Shard, Worker, half_of, loss_of_shard
from nmt.model.scopes import LocalScope
from nmt.training.loss import BatchLoss, Loss

SENTENCES = 16  # of a half: with fewer, what is done for each weight takes longer than it saves


def accelerate(
    losses: nn.Module, precision: Precision, sampled_softmax: tuple[Tensor, int] | None = None
) -> GradientFunction:
    """Replace the modules of a `BatchLoss`, alone or in DistributedDataParallel, and return its gradient function.

    `sampled_softmax` is the frequency of each target token in the training text, and how many an update draws.
    """
    keep_freed_memory()
    batch_loss = losses.module if isinstance(losses, DistributedDataParallel) else losses
    assert isinstance(batch_loss, BatchLoss)
    device = batch_loss.model.device
    batch_loss.__class__ = FastBatchLoss
    assert isinstance(batch_loss, FastBatchLoss)
    if sampled_softmax is not None:
        frequencies, number = sampled_softmax
        batch_loss.sampler = VocabularySampler(frequencies.to(device), number)
    has_graphs = CUDAGraphRunner.is_possible(batch_loss.model)
    if device.type == "cpu" or has_graphs:
        replace_modules(batch_loss.model)
    if has_graphs and batch_loss is losses:
        return CUDAGraphRunner(batch_loss, precision)
    return FastGradient(losses, precision)


class FastGradient:
    """A gradient function: in this process, or on a CPU half of each large batch in a worker process."""

    def __init__(self, losses: nn.Module, precision: Precision) -> None:
        self.losses = losses
        self.precision = precision
        self.worker: Worker | None = None  # until the first large batch

    def __call__(self, batch: Batch | None, teacher_forcing_mask: Tensor | None) -> Tensor:
        if batch is not None and isinstance(self.losses, BatchLoss) and self._is_worth_two(batch):
            self.worker = self.worker or Worker(self.losses, self.precision)
            return self._with_worker(self.losses, self.worker, batch, teacher_forcing_mask)
        device = next(self.losses.parameters()).device.type
        with products_in(self.precision):
            with torch.autocast(device, torch.bfloat16, enabled=self.precision == "bf16" and device != "cpu"):
                loss: Loss = self.losses(batch, teacher_forcing_mask)
            loss.smoothed.backward()
        return loss.nll.detach()

    def _is_worth_two(self, batch: Batch) -> bool:
        weight = next(self.losses.parameters())
        large = torch.get_num_threads() > 1 and len(batch.source) >= 2 * SENTENCES
        return large and is_fast(weight) and Worker.is_possible()

    def _with_worker(self, losses: BatchLoss, worker: Worker, batch: Batch, mask: Tensor | None) -> Tensor:
        """Every other sentence is computed here: neighbours are alike in length."""
        global_step = next((x.global_step for x in losses.modules() if isinstance(x, LocalScope)), 0)
        shards = []
        for first, seed in enumerate(torch.randint(2**63 - 1, (2,)).tolist()):
            half = half_of(batch, first)
            half_mask = None if mask is None else mask[first::2, : half.target_input.shape[1]].contiguous()
            shards.append(Shard(half, half_mask, seed, global_step))
        worker.send(shards[1])
        threads = torch.get_num_threads()
        torch.set_num_threads(threads - threads // 2)
        try:
            with products_in(self.precision):
                loss = loss_of_shard(losses, shards[0])
                loss.smoothed.backward()
            nll, gradients = worker.receive()
        finally:
            torch.set_num_threads(threads)
        for weight, gradient in zip(losses.parameters(), gradients, strict=True):
            if gradient is None:
                continue
            if weight.grad is None:
                weight.grad = gradient.clone()  # the worker overwrites its own
            else:
                weight.grad += gradient
        return loss.nll.detach() + nll
