"""Updates on a CUDA GPU: the computation of a batch's gradient is captured once, as a CUDA graph, and then replayed.

An update of a small model is a thousand short operations, and launching one takes longer than running it. A graph is
launched as a whole. It is for one shape of batch, so batches are padded to a few shapes. The first batch of a shape is
computed without a graph, and the second one is captured.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.data.batching import Batch, send
from nmt.fast.output_loss import FastBatchLoss, padded_output_loss
from nmt.model.attention import Attention
from nmt.model.layers import Linear
from nmt.model.scopes import GlobalScope
from nmt.model.seq2seq import Seq2Seq
from nmt.model.special_tokens import PAD
from nmt.training.loss import Loss

SOURCE_STEP, TARGET_STEP = 4, 2  # what lengths are padded to multiples of; batches are alike in their target lengths
MOST = 1024  # graphs: of batches whose shapes keep differing, the later ones are not captured


class Shape(NamedTuple):
    """What a graph is captured for: the numbers of sentences, source and target positions; with a mask or without."""

    sentences: int
    source: int
    target: int
    masked: bool


class Captured(NamedTuple):
    graph: torch.cuda.CUDAGraph
    values: Int[Tensor, " X"]  # its input: the batch as one tensor
    nll: Float[Tensor, ""]


class CUDAGraphRunner:
    """A gradient function (`nmt.acceleration.GradientFunction`) of one model's losses."""

    def __init__(self, losses: FastBatchLoss, precision: str) -> None:
        self._losses = losses
        self._bf16 = precision == "bf16"
        self._weights = list(losses.parameters())
        self._sums = [torch.zeros_like(weight) for weight in self._weights]
        self._reached: list[int] = []
        self._met: set[Shape] = set()
        self._graphs: dict[Shape, Captured] = {}
        self._most = MOST
        self._pool: Any = None
        self._stream: torch.cuda.Stream | None = None  # one for all, or their memory could not be shared

    @staticmethod
    def is_possible(model: Seq2Seq) -> bool:
        """Whether the model is on a CUDA GPU, and its operations are the same ones for all batches of a shape."""
        return model.device.type == "cuda" and isinstance(model.decoder.output, Linear) and follows_shape(model)

    def __call__(self, batch: Batch | None, mask: Bool[Tensor, "B T"] | None) -> Float[Tensor, ""]:
        """Add the gradient of a batch's summed loss to the weights'; returns its summed NLL, in nats.

        The weights' gradients are the runner's own tensors, which the first batch of an update sets to 0: that is the
        one before which all gradients are None, as an optimizer's `zero_grad` leaves them. The NLL is valid until the
        next batch. If the memory does not suffice, no more graphs are captured.
        """
        assert batch is not None
        if all(weight.grad is None for weight in self._weights):
            torch._foreach_zero_(self._sums)
        shape, values = flat(batch, mask)
        try:
            nll = self._add(shape, values)
        except torch.OutOfMemoryError:  # nothing has been added
            if self._most == 0:
                raise
            self._most = 0
            self._graphs.clear()  # and with them the memory that only they can use
            torch.cuda.empty_cache()
            nll = self._add(shape, values)
        for i in self._reached:
            self._weights[i].grad = self._sums[i]
        return nll

    def _add(self, shape: Shape, values: Int[Tensor, " X"]) -> Float[Tensor, ""]:
        """Add the gradient to the sums, by the graph of this shape if there is one; returns the NLL."""
        if shape not in self._graphs and shape in self._met and len(self._graphs) < self._most:
            self._graphs[shape] = self._capture(shape, send(values, self._sums[0].device))
        if shape not in self._graphs:
            self._met.add(shape)
            return self._compute(shape, send(values, self._sums[0].device))
        captured = self._graphs[shape]
        captured.values.copy_(values.pin_memory(), non_blocking=True)
        captured.graph.replay()
        return captured.nll

    def _compute(self, shape: Shape, values: Int[Tensor, " X"]) -> Float[Tensor, ""]:
        """The same by operations that can be captured."""
        batch, mask = unflat(shape, values)
        with torch.autocast("cuda", torch.bfloat16, enabled=self._bf16):
            loss = self._loss(batch, mask)
        gradients = torch.autograd.grad(loss.smoothed, self._weights, allow_unused=True)
        reached = [i for i, gradient in enumerate(gradients) if gradient is not None]
        torch._foreach_add_([self._sums[i] for i in reached], [gradients[i] for i in reached])
        self._reached = reached
        return loss.nll

    def _loss(self, batch: Batch, mask: Bool[Tensor, "B T"] | None) -> Loss:
        """The loss of a batch on the GPU, lengths included, by operations that depend on its shape alone.

        It reads the padding too, leaves it out of the sum, and never waits for the device.
        """
        losses = self._losses
        positions = torch.arange(batch.target_output.numel(), device=batch.source.device)
        features, _ = losses.model(batch.source, batch.source_lengths, batch.target_input, positions, mask)
        targets, real = batch.target_output.flatten(), batch.real.flatten()
        weight, bias, targets, counts = losses.output_layer(targets, padded=True)
        return padded_output_loss(features, weight, bias, targets, losses.smoothing, real, counts)

    def _capture(self, shape: Shape, values: Int[Tensor, " X"]) -> Captured:
        """Capture `_compute`. All graphs use the same memory: each is finished before the next one starts."""
        graph = torch.cuda.CUDAGraph()
        if self._stream is None:
            self._pool, self._stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(values.device)
        torch.cuda.synchronize(values.device)
        torch.cuda.empty_cache()  # or a graph could not use what is free
        with torch.cuda.stream(self._stream), _without_garbage_collection():
            graph.capture_begin(pool=self._pool)
            try:
                nll = self._compute(shape, values)
            except BaseException:
                with suppress(RuntimeError):  # it would hide the error
                    graph.capture_end()
                raise
            graph.capture_end()
        return Captured(graph, values, nll)


def follows_shape(model: Seq2Seq) -> bool:
    """Whether every operation depends on the shape of a batch alone.

    Other scopes than the global one read positions that depend on the sentence, or on the updates done.
    """
    attention = model.decoder.attention
    return not isinstance(attention, Attention) or type(attention.scope) is GlobalScope


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """What Python's garbage collector frees on a GPU may end a capture: it waits until the end of the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def flat(batch: Batch, mask: Bool[Tensor, "B T"] | None) -> tuple[Shape, Int[Tensor, " X"]]:
    """A batch, padded to its shape, as one tensor, which reaches a GPU in one copy."""
    source = padded(batch.source, SOURCE_STEP)
    target_input, target_output = (padded(x, TARGET_STEP) for x in (batch.target_input, batch.target_output))
    masks = [] if mask is None else [padded(mask.long(), TARGET_STEP, 1)]
    shape = Shape(len(source), source.shape[1], target_input.shape[1], mask is not None)
    tensors = [source, batch.source_lengths, target_input, target_output, batch.target_lengths, *masks]
    return shape, torch.cat([tensor.flatten() for tensor in tensors])


def unflat(shape: Shape, values: Int[Tensor, " X"]) -> tuple[Batch, Bool[Tensor, "B T"] | None]:
    """The padded batch, and its teacher forcing mask."""
    sentences, source, target, masked = shape
    widths = [source, 1, target, target, 1] + ([target] if masked else [])
    columns = values.split([sentences * width for width in widths])
    tensors = [column.view(sentences, width) for column, width in zip(columns, widths, strict=True)]
    batch = Batch(tensors[0], tensors[1].squeeze(1), tensors[2], tensors[3], tensors[4].squeeze(1))
    return batch, tensors[5].bool() if masked else None


def padded(ids: Int[Tensor, "B L"], step: int, value: int = PAD) -> Int[Tensor, "B P"]:
    """The ids with padding up to a multiple of `step`."""
    return F.pad(ids, (0, -ids.shape[1] % step), value=value)
