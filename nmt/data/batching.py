"""Pairs of id sequences → padded batches of like length, in an order that the seed and the epoch decide."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nmt.data.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Example:
    """One pair as ids, without marks of its beginning or end."""

    source: list[int]
    target: list[int]


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on another device; a GPU fetches it by itself, from pinned memory, and nobody waits."""
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


@dataclass(frozen=True)
class Batch:
    """Padded id tensors. Lengths stay on the CPU, where they are known without waiting for a device."""

    source: Int[Tensor, "B S"]  # ends with EOS, then PAD
    source_lengths: Int[Tensor, " B"]  # EOS counted
    target_input: Int[Tensor, "B T"]  # BOS y_1 … y_n, then PAD
    target_output: Int[Tensor, "B T"]  # y_1 … y_n EOS, then PAD
    target_lengths: Int[Tensor, " B"]  # EOS counted

    @property
    def source_tokens(self) -> int:
        return int(self.source_lengths.sum())

    @property
    def target_tokens(self) -> int:
        """Target tokens that carry loss: EOS counted, BOS and padding not."""
        return int(self.target_lengths.sum())

    @property
    def places(self) -> Int[Tensor, " N"]:
        """Where in the flattened (B T) the N real target positions are: those that carry loss."""
        real = torch.arange(self.target_output.shape[1]) < self.target_lengths.unsqueeze(1)
        return real.flatten().nonzero().squeeze(1)

    def to(self, device: torch.device) -> Batch:
        """The batch with its ids on another device."""
        source, target_input, target_output = (
            send(x, device) for x in (self.source, self.target_input, self.target_output)
        )
        return Batch(source, self.source_lengths, target_input, target_output, self.target_lengths)


def pad(sequences: Sequence[Sequence[int]]) -> Int[Tensor, "B L"]:
    """Stack id sequences, with `PAD` behind the shorter ones."""
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
    return Batch(
        source,
        source_lengths,
        target_input=pad([[BOS, *example.target] for example in examples]),
        target_output=pad([[*example.target, EOS] for example in examples]),
        target_lengths=torch.tensor([len(example.target) + 1 for example in examples]),
    )


def epoch_batches(
    examples: Sequence[Example], batch_size: int, unit: Literal["sentences", "tokens"], seed: int, epoch: int
) -> list[list[int]]:
    """Indices of each batch of one epoch: shuffled, pooled by length, shuffled again. Every example comes once.

    `unit: tokens` counts a batch as its sentences times the longest side in it, padding included; a longer example
    than that is a batch of its own. The same seed and epoch give the same batches, whatever was drawn before.
    """
    from torchtext.data import pool
    from torchtext.data.utils import RandomShuffler

    def serpentine(index: int) -> tuple[int, int]:
        """By target length in steps of two, and within each by source length, up and down in turn.

        Neighbours are then alike on both sides: on Multi30k this fills 93 % of the cells, plain sorting 90 %.
        """
        source, step = len(examples[index].source), len(examples[index].target) // 2
        return step, source if step % 2 else -source

    def padded_tokens(index: int, count: int, before: int) -> int:
        longest_before = before // (count - 1) if count > 1 else 0
        return count * max(longest_before, len(examples[index].source) + 1, len(examples[index].target) + 1)

    order = list(range(len(examples)))
    generator = random.Random(f"{seed} {epoch}")
    generator.shuffle(order)
    size = {"batch_size_fn": padded_tokens} if unit == "tokens" else {}
    batches = pool(
        order,
        batch_size,
        key=serpentine,
        random_shuffler=RandomShuffler(generator.getstate()),
        shuffle=True,
        sort_within_batch=True,
        **size,
    )
    return [batch for batch in batches if batch]  # torchtext yields an empty batch before an example over the size


def fill_rate(examples: Sequence[Example], batches: Sequence[Sequence[int]]) -> float:
    """Share of the padded batches' cells, both sides together, that hold a token."""
    filled = cells = 0
    for batch in batches:
        for lengths in ([len(examples[i].source) + 1 for i in batch], [len(examples[i].target) + 1 for i in batch]):
            filled += sum(lengths)
            cells += max(lengths) * len(lengths)
    return filled / cells
