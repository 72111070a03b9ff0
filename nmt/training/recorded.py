"""Updates on a CUDA GPU: what computes a batch's gradient is recorded once, as a CUDA graph, and then played back.

An update of a small model is a thousand short operations, and launching one takes longer than running it. A graph is
launched as a whole. It holds for one shape of batch, so batches are padded to a few shapes. The first batch
of a shape is computed without a recording, at the second one it is recorded.
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
from nmt.kernels.precision import autocast
from nmt.model.attention import Attention
from nmt.model.scopes import SCOPES
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import PAD
from nmt.training.loss import BatchLoss, padded_loss

SOURCE_STEP, TARGET_STEP = 4, 2  # what lengths are padded to multiples of; batches are alike in their target lengths
MOST = 1024  # recorded graphs: of batches whose shapes keep differing, the later ones are not recorded


class Shape(NamedTuple):
    """What a graph holds for: the numbers of sentences, source and target positions; coins or none; the precision."""

    sentences: int
    source: int
    target: int
    coins: bool
    bf16: bool


class Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    numbers: Int[Tensor, " X"]  # what it reads: the batch as one tensor
    nll: Float[Tensor, ""]


class Recorder:
    """Adds gradients of batches to the weights', with the losses of one model."""

    def __init__(self, losses: BatchLoss) -> None:
        self._losses = losses
        self._weights = list(losses.parameters())
        self._sums = [torch.zeros_like(weight) for weight in self._weights]
        self._reached: list[int] = []
        self._met: set[Shape] = set()
        self._recordings: dict[Shape, Recording] = {}
        self._most = MOST
        self._pool: Any = None
        self._stream: torch.cuda.Stream | None = None  # one for all, or their memory could not be shared

    @staticmethod
    def is_possible(model: Seq2Seq) -> bool:
        """Whether the model's device records, and its operations are the same ones for all batches of a shape."""
        return model.device.type == "cuda" and follows_shape(model)

    def add_gradient(self, batch: Batch, use_reference: Bool[Tensor, "B T"] | None, bf16: bool) -> Float[Tensor, ""]:
        """Add the gradient of a batch's summed loss to the weights'; returns its summed NLL, in nats.

        The weights' gradients are the recorder's own tensors, which the first batch of an update sets to 0: whoever
        sets all of them to None, as an optimizer's `zero_grad` does, asks for a new sum. The NLL is good until the next
        batch. If the memory does not suffice, recording ends for good.
        """
        if all(weight.grad is None for weight in self._weights):
            torch._foreach_zero_(self._sums)
        shape, numbers = flat(batch, use_reference, bf16)
        try:
            nll = self._add(shape, numbers)
        except torch.OutOfMemoryError:  # nothing has been added
            if self._most == 0:
                raise
            self._most = 0
            self._recordings.clear()  # and with them the memory that only they can use
            torch.cuda.empty_cache()
            nll = self._add(shape, numbers)
        for place in self._reached:
            self._weights[place].grad = self._sums[place]
        return nll

    def _add(self, shape: Shape, numbers: Int[Tensor, " X"]) -> Float[Tensor, ""]:
        """Add the gradient to the sums, by the recording of this shape if there is one; returns the NLL."""
        if shape not in self._recordings and shape in self._met and len(self._recordings) < self._most:
            self._recordings[shape] = self._record(shape, send(numbers, self._sums[0].device))
        if shape not in self._recordings:
            self._met.add(shape)
            return self._compute(shape, send(numbers, self._sums[0].device))
        recording = self._recordings[shape]
        recording.numbers.copy_(numbers.pin_memory(), non_blocking=True)
        recording.graph.replay()
        return recording.nll

    def _compute(self, shape: Shape, numbers: Int[Tensor, " X"]) -> Float[Tensor, ""]:
        """The same by operations that can be recorded."""
        batch, use_reference = unflat(shape, numbers)
        losses = self._losses
        with autocast(numbers.device, wanted=shape.bf16):
            loss = padded_loss(losses.model, batch, losses.smoothing, use_reference, losses.r_drop, losses.sampler)
        gradients = torch.autograd.grad(loss.smoothed, self._weights, allow_unused=True)
        reached = [place for place, gradient in enumerate(gradients) if gradient is not None]
        torch._foreach_add_([self._sums[place] for place in reached], [gradients[place] for place in reached])
        self._reached = reached
        return loss.nll

    def _record(self, shape: Shape, numbers: Int[Tensor, " X"]) -> Recording:
        """Record what `_compute` does. What graphs make lies in the same memory: each is done with before the next."""
        graph = torch.cuda.CUDAGraph()
        if self._stream is None:
            self._pool, self._stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(numbers.device)
        torch.cuda.synchronize(numbers.device)
        torch.cuda.empty_cache()  # what is free otherwise cannot be used by a recording
        with torch.cuda.stream(self._stream), _nothing_collected():
            graph.capture_begin(pool=self._pool)
            try:
                nll = self._compute(shape, numbers)
            except BaseException:
                with suppress(RuntimeError):  # it would hide the error
                    graph.capture_end()
                raise
            graph.capture_end()
        return Recording(graph, numbers, nll)


def follows_shape(model: Seq2Seq) -> bool:
    """Whether the shape of a batch alone decides about every operation.

    Other scopes than the global one look at places that depend on the sentence, or on the updates done.
    """
    attention = model.decoder.attention
    return not isinstance(attention, Attention) or type(attention.scope) is SCOPES["global"]


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """What Python's garbage collector frees on a GPU may end a recording: it waits until the end of the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def flat(batch: Batch, use_reference: Bool[Tensor, "B T"] | None, bf16: bool) -> tuple[Shape, Int[Tensor, " X"]]:
    """A batch, padded to its shape, as one tensor, which reaches a GPU in one copy; coins are 0 and 1."""
    source = padded(batch.source, SOURCE_STEP)
    target_input, target_output = (padded(x, TARGET_STEP) for x in (batch.target_input, batch.target_output))
    coins = [] if use_reference is None else [padded(use_reference.long(), TARGET_STEP, 1)]
    shape = Shape(len(source), source.shape[1], target_input.shape[1], use_reference is not None, bf16)
    parts = [source, batch.source_lengths, target_input, target_output, batch.target_lengths, *coins]
    return shape, torch.cat([part.flatten() for part in parts])


def unflat(shape: Shape, numbers: Int[Tensor, " X"]) -> tuple[Batch, Bool[Tensor, "B T"] | None]:
    """The padded batch, and where the decoder reads the reference."""
    sentences, source, target = shape.sentences, shape.source, shape.target
    widths = [source, 1, target, target, 1] + ([target] if shape.coins else [])
    parts = [
        part.view(sentences, width)
        for part, width in zip(numbers.split([sentences * width for width in widths]), widths, strict=True)
    ]
    batch = Batch(parts[0], parts[1].squeeze(1), parts[2], parts[3], parts[4].squeeze(1))
    return batch, parts[5].bool() if shape.coins else None


def padded(ids: Int[Tensor, "B L"], step: int, value: int = PAD) -> Int[Tensor, "B P"]:
    """The ids with padding up to a multiple of `step`."""
    return F.pad(ids, (0, -ids.shape[1] % step), value=value)
