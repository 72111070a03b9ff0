"""Some of the target types instead of all of them, for the output layer of an update (Jean et al. 2015, section 3).

Those that the batch's references have are all there. The others are represented by a random draw, which takes frequent
types more often than rare ones. A drawn type counts as one divided by its chance, so that the softmax's sum is that
over all types in the mean (complementary sum sampling, Botev et al. 2017).

Shapes: N target tokens, V vocabulary, C chosen types.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.kernels.dropout import current_generator

POWER = 0.75  # of a type's frequency (Mikolov et al. 2013, section 2.2)
ALMOST_NOTHING = 1e-30  # which has a logarithm


class SampledTypes(NamedTuple):
    types: Int[Tensor, " C"]  # each once
    stand_for: Float[Tensor, " C"]  # how many types each of them stands for
    targets: Int[Tensor, " N"]  # the places of the targets among `types`


class TypeSampler:
    """Draws target types: `number` in the mean, by how often the training text has them. It has the counts' device."""

    def __init__(self, counts: Int[Tensor, " V"], number: int) -> None:
        self.chances = chances_of(counts, number)
        self._most = number + math.ceil(6 * math.sqrt(number))  # more are not drawn in a billion times

    def sample(self, targets: Int[Tensor, " N"], *, padded: bool = False) -> SampledTypes:
        """The types of the targets, and drawn ones.

        If `padded`, N alone decides about C: types that were not drawn are there, too, and stand for nothing.
        """
        drawn = torch.rand(len(self.chances), device=targets.device, generator=current_generator()) < self.chances
        own = torch.zeros_like(drawn).index_fill_(0, targets, True)
        stand_for = torch.where(own, 1, torch.where(drawn, 1 / self.chances, ALMOST_NOTHING))
        if padded:
            types = stand_for.topk(min(len(stand_for), len(targets) + self._most)).indices
        else:
            types = (own | drawn).nonzero().squeeze(1)
        places = torch.empty_like(own, dtype=torch.long)
        places[types] = torch.arange(len(types), device=types.device)
        return SampledTypes(types, stand_for[types], places[targets])


def chances_of(counts: Int[Tensor, " V"], number: int) -> Float[Tensor, " V"]:
    """How likely each type is to be drawn: like (1 + count) to the `POWER`, 1 at most, and `number` together."""
    wanted = (1 + counts.double()) ** POWER
    chances = wanted.new_zeros(len(wanted))
    while True:  # what one type cannot have, because it is drawn always, goes to the others
        free = chances < 1
        chances[free] = wanted[free] * (number - int((~free).sum())) / wanted[free].sum()
        if not (chances > 1).any():
            return chances.float()
        chances.clamp_(max=1)
