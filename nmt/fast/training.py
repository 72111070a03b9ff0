"""Training with the fast modules: the function that adds a batch's gradient to the weights'."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt.acceleration import GradientFunction
from nmt.data.batching import Batch
from nmt.fast.batch_loss import FastBatchLoss
from nmt.fast.cuda_graphs import CUDAGraphRunner
from nmt.fast.modules import replace_modules
from nmt.fast.precision import is_fast, products_in
from nmt.fast.sampled_softmax import VocabularySampler
from nmt.fast.worker import Gradients, Shard, Worker, gradients_of
from nmt.model.scopes import LocalScope
from nmt.system.processor import Precision
from nmt.training.loss import BatchLoss, Loss

SENTENCES = 16  # of a half: with fewer, what is done for each weight takes longer than it saves


def accelerate(
    losses: nn.Module, precision: Precision, sampled_softmax: tuple[Tensor, int] | None = None
) -> GradientFunction:
    """Replace the modules of a `BatchLoss`, alone or in DistributedDataParallel, and return its gradient function.

    `sampled_softmax` is the frequency of each target token in the training text, and how many an update draws.
    """
    batch_loss = losses.module if isinstance(losses, DistributedDataParallel) else losses
    assert isinstance(batch_loss, BatchLoss)
    device = batch_loss.model.device
    batch_loss.__class__ = FastBatchLoss
    assert isinstance(batch_loss, FastBatchLoss)
    if sampled_softmax is not None:
        frequencies, number = sampled_softmax
        batch_loss.sampler = VocabularySampler(frequencies.to(device), number)
    if device.type == "cpu" or CUDAGraphRunner.is_possible(batch_loss.model):
        replace_modules(batch_loss.model)
    if batch_loss is losses and CUDAGraphRunner.is_possible(batch_loss.model):
        return CUDAGraphRunner(batch_loss, precision)
    return FastGradient(losses, precision)


class FastGradient:
    """A gradient function: in this process, or on a CPU half of each large batch in a worker process."""

    def __init__(self, losses: nn.Module, precision: Precision) -> None:
        self.losses = losses
        self.precision = precision
        self.worker = Worker(losses) if isinstance(losses, BatchLoss) and Worker.is_possible() else None

    def __call__(self, batch: Batch | None, teacher_forcing_mask: Tensor | None) -> Tensor:
        if batch is not None and self.worker is not None and self._is_worth_two(batch):
            return self._by_two(self.worker, *self._halves(batch, teacher_forcing_mask))
        device = next(self.losses.parameters()).device.type
        autocast = torch.autocast(device, torch.bfloat16, enabled=self.precision == "bf16" and device != "cpu")
        with products_in(self.precision):
            with autocast:
                loss: Loss = self.losses(batch, teacher_forcing_mask)
            loss.smoothed.backward()
        return loss.nll.detach()

    def _is_worth_two(self, batch: Batch) -> bool:
        weight = next(self.losses.parameters())
        return torch.get_num_threads() > 1 and len(batch.source) >= 2 * SENTENCES and is_fast(weight)

    def _halves(self, batch: Batch, mask: Tensor | None) -> list[Shard]:
        """Every other sentence each: neighbours are alike in length."""
        halves = []
        scopes = [module for module in self.losses.modules() if isinstance(module, LocalScope)]
        global_step = scopes[0].global_step if scopes else 0
        for first, seed in enumerate(torch.randint(2**63 - 1, (2,)).tolist()):
            half = batch.shard(first, 2)
            half_mask = None if mask is None else mask[first::2, : half.target_input.shape[1]].contiguous()
            halves.append(Shard(half, seed, half_mask, global_step, self.precision))
        return halves

    def _by_two(self, worker: Worker, own: Shard, other: Shard) -> Tensor:
        worker.send(other)
        threads = torch.get_num_threads()
        torch.set_num_threads(threads - threads // 2)
        try:
            own_nll, gradients = gradients_of(worker.losses, own)
            self._add(gradients, lasting=True)  # while the worker copies its own
            other_nll, gradients = worker.receive()
        finally:
            torch.set_num_threads(threads)
        self._add(gradients, lasting=False)
        return own_nll + other_nll

    def _add(self, gradients: Gradients, *, lasting: bool) -> None:
        """Add gradients to the weights', in the weights' memory layout, along which the optimizer walks.

        Only `lasting` ones, which nothing overwrites later, can become a weight's own.
        """
        for weight, gradient in zip(self.losses.parameters(), gradients, strict=True):
            if gradient is None:
                continue
            if weight.grad is not None:
                weight.grad += gradient
            elif lasting and gradient.is_contiguous():
                weight.grad = gradient
            else:
                weight.grad = torch.empty_like(weight).copy_(gradient)
