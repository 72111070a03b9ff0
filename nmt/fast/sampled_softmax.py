"""A sampled softmax: an update computes the output layer for a part of the vocabulary (Jean et al. 2015, section 3).

It has all tokens of the batch's references. The others are represented by a random draw, which takes frequent tokens
more often than rare ones. A drawn token counts as one divided by its chance, so that the softmax's sum is that over the
whole vocabulary in the mean (complementary sum sampling, Botev et al. 2017).

Shapes: N target tokens, V vocabulary, C sampled vocabulary entries.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

POWER = 0.75  # of a token's frequency (Mikolov et al. 2013, section 2.2)
ALMOST_NOTHING = 1e-30  # which has a logarithm


class Sample(NamedTuple):
    tokens: Int[Tensor, " C"]  # each once
    counts: Float[Tensor, " C"]  # how many vocabulary entries each of them counts as
    targets: Int[Tensor, " N"]  # the positions of the targets among `tokens`


class VocabularySampler:
    """Draws target tokens: `number` in the mean, by their frequencies in the training text, on these' device."""

    def __init__(self, frequencies: Int[Tensor, " V"], number: int) -> None:
        self.chances = chances_of(frequencies, number)
        self._most = number + math.ceil(6 * math.sqrt(number))  # more are not drawn in a billion times

    def sample(self, targets: Int[Tensor, " N"], *, padded: bool = False) -> Sample:
        """The targets' tokens, and drawn ones.

        If `padded`, C depends on N alone: tokens that were not drawn are there, too, and count as nothing.
        """
        drawn = torch.rand(len(self.chances), device=targets.device) < self.chances
        is_target = torch.zeros_like(drawn).index_fill_(0, targets, True)
        counts = torch.where(is_target, 1, torch.where(drawn, 1 / self.chances, ALMOST_NOTHING))
        if padded:
            tokens = counts.topk(min(len(counts), len(targets) + self._most)).indices
        else:
            tokens = (is_target | drawn).nonzero().squeeze(1)
        positions = torch.empty_like(is_target, dtype=torch.long)
        positions[tokens] = torch.arange(len(tokens), device=tokens.device)
        return Sample(tokens, counts[tokens], positions[targets])


def chances_of(frequencies: Int[Tensor, " V"], number: int) -> Float[Tensor, " V"]:
    """The chance of each token to be drawn: like (1 + frequency) to the `POWER`, 1 at most; their sum is `number`."""
    smoothed = (1 + frequencies.double()) ** POWER
    chances = smoothed.new_zeros(len(smoothed))
    while True:  # what exceeds 1 for one token goes to the others
        free = chances < 1
        chances[free] = smoothed[free] * (number - int((~free).sum())) / smoothed[free].sum()
        if not (chances > 1).any():
            return chances.float()
        chances.clamp_(max=1)
