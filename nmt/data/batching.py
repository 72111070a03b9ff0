"""Pairs of id sequences → padded batches of like length, in an order that the seed and the epoch decide.

Batches are made with NumPy: torchtext's `pool` makes Python objects of each example, which takes a gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from nmt.text.vocabulary import BOS, EOS, PAD

Batches: TypeAlias = "list[NDArray[np.int32]]"  # of an epoch, as the indices of the examples in each of them


@dataclass(frozen=True)
class Example:
    """One pair as ids, without marks of its beginning or end."""

    source: list[int]
    target: list[int]
    links: Int[np.ndarray, "L 2"] | None = None  # positions that translate each other, for guided alignment


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """A CPU tensor on another device. A GPU copies it from pinned memory, without making the CPU wait."""
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


@dataclass(frozen=True)
class Batch:
    """Padded id tensors. Lengths stay on the CPU, where they are known without waiting for a device."""

    source: Int[Tensor, "B S"]  # ends with EOS, then PAD
    source_lengths: Int[Tensor, " B"]  # EOS counted
    target_input: Int[Tensor, "B T"]  # BOS y_1 … y_n, then PAD
    target_output: Int[Tensor, "B T"]  # y_1 … y_n EOS, then PAD
    target_lengths: Int[Tensor, " B"]  # EOS counted
    links: Float[Tensor, "B T S"] | None = None  # the share of each source position in a target position's links

    @property
    def source_tokens(self) -> int:
        return int(self.source_lengths.sum())

    @property
    def target_tokens(self) -> int:
        """Target tokens that carry loss: EOS counted, BOS and padding not."""
        return int(self.target_lengths.sum())

    @property
    def real(self) -> Bool[Tensor, "B T"]:
        """Which target positions carry loss: all but padding."""
        positions = torch.arange(self.target_output.shape[1], device=self.target_lengths.device)
        return positions < self.target_lengths.unsqueeze(1)

    @property
    def loss_positions(self) -> Int[Tensor, " N"]:
        """The indices of the N target positions that carry loss, in the flattened (B T)."""
        return self.real.flatten().nonzero().squeeze(1)

    def to(self, device: torch.device) -> Batch:
        """The batch with its ids on another device."""
        values = {name: x for name, x in vars(self).items() if x is not None and not name.endswith("lengths")}
        return replace(self, **{name: send(x, device) for name, x in values.items()})


def pad(sequences: Sequence[Sequence[int]]) -> Int[Tensor, "B L"]:
    """Stack id sequences, with `PAD` after the shorter ones."""
    rows = np.full((len(sequences), max(map(len, sequences))), PAD, dtype=np.int64)
    for row, sequence in zip(rows, sequences, strict=True):  # a sixth of the time that a tensor each would take
        row[: len(sequence)] = sequence
    return torch.from_numpy(rows)


def pad_source(sources: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "B S"], Int[Tensor, " B"]]:
    """Source ids, EOS and padding added, with the lengths that the encoder needs (EOS counted)."""
    ended = [[*source, EOS] for source in sources]
    return pad(ended), torch.tensor([len(source) for source in ended])


def collate(examples: Sequence[Example]) -> Batch:
    source, source_lengths = pad_source([example.source for example in examples])
    links = None
    if any(example.links is not None for example in examples):
        links = torch.zeros(len(examples), 1 + max(len(example.target) for example in examples), source.shape[1])
        for matrix, example in zip(links, examples, strict=True):
            if example.links is not None:
                matrix[example.links[:, 1], example.links[:, 0]] = 1
        links /= links.sum(dim=2, keepdim=True).clamp(min=1)
    return Batch(
        source,
        source_lengths,
        target_input=pad([[BOS, *example.target] for example in examples]),
        target_output=pad([[*example.target, EOS] for example in examples]),
        target_lengths=torch.tensor([len(example.target) + 1 for example in examples]),
        links=links,
    )


def epoch_batches(
    lengths: tuple[NDArray[np.int32], NDArray[np.int32]],
    batch_size: int,
    unit: Literal["sentences", "tokens"],
    seed: int,
    epoch: int,
) -> Batches:
    """The batches of one epoch: shuffled, pooled by length, shuffled again. Every example comes once.

    `lengths` are those of the sources and the targets, without marks. `unit: tokens` counts a batch as its sentences
    times the longest side in it, padding included; a longer example than that is a batch of its own. The same seed and
    epoch give the same batches, whatever was drawn before. Five million examples take 0.7 s.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(np.arange(len(lengths[0]), dtype=np.int32))
    longest = np.maximum(*lengths) + 1
    ends: list[int] = []
    for begin, end in pairwise([0, *_pool_ends(longest[order] if unit == "tokens" else None, len(order), batch_size)]):
        pool = order[begin:end]
        # By target length in steps of two, and within each by source length, up and down in turn: neighbours are then
        # alike on both sides. On Multi30k this fills 93 % of the cells, plain sorting 90 %.
        source, step = lengths[0][pool], lengths[1][pool] // 2
        pool[:] = pool[np.lexsort((np.where(step % 2, source, -source), step))]
        if unit == "sentences":
            ends += [*range(begin + batch_size, end, batch_size), end]
        else:
            ends += [begin + batch_end for batch_end in _batch_ends(longest[pool], batch_size)]
    batches = np.split(order, ends[:-1])
    return [batches[number] for number in random.permutation(len(ends))]


def _pool_ends(cells: NDArray[np.int32] | None, count: int, batch_size: int) -> list[int]:
    """Where each pool ends. A pool gives about a hundred batches, of so many sentences or cells of a side."""
    size = 100 * batch_size
    if cells is None or not count:
        return sorted({*range(size, count, size), count} - {0})
    total = cells.cumsum(dtype=np.int64)
    return sorted({*np.searchsorted(total, np.arange(size, total[-1], size)).tolist(), count} - {0})


def _batch_ends(longest: NDArray[np.int32], size: int) -> list[int]:
    """Where the batches end that take as many neighbours as fit into `size` cells of a side."""
    ends = []
    begin = 0
    while begin < len(longest):
        window = longest[begin : begin + size]
        cells = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        begin += max(1, int(np.searchsorted(cells, size, side="right")))
        ends.append(begin)
    return ends
