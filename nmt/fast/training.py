"""Training with the fast modules: the function that adds a batch's gradient to the weights'."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt.acceleration import GradientFunction, Precision, plain_gradient
from nmt.data.batching import Batch
from nmt.fast.cuda_graphs import CUDAGraphRunner
from nmt.fast.modules import replace_modules
from nmt.fast.output_loss import FastBatchLoss
from nmt.fast.processor import keep_freed_memory
from nmt.fast.products import products_in
from nmt.fast.sampled_softmax import VocabularySampler
from nmt.training.loss import BatchLoss


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
    is_usual = batch_loss.guidance is None and batch_loss.objective is None
    has_graphs = is_usual and CUDAGraphRunner.is_possible(batch_loss.model)
    if device.type == "cpu" or has_graphs:
        replace_modules(batch_loss.model)
    if has_graphs and batch_loss is losses:
        return CUDAGraphRunner(batch_loss, precision)
    return _gradient_function(losses, precision)


def _gradient_function(losses: nn.Module, precision: Precision) -> GradientFunction:
    on_cpu = next(losses.parameters()).device.type == "cpu"
    plain = plain_gradient(losses, "float32" if on_cpu else precision)  # on a CPU the products round, without autocast

    def add_gradient(batch: Batch | None, teacher_forcing_mask: Tensor | None) -> Tensor:
        with products_in(precision):
            return plain(batch, teacher_forcing_mask)

    return add_gradient
