"""Luong's location score."""

from __future__ import annotations

from typing import ClassVar

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from nmt.kernels import Linear
from nmt.model.scores.base import ScoreOptions
from nmt.model.scores.product import ProductScore
from nmt.registry import Count, Section


class LocationOptions(ScoreOptions):
    """The options of `location`."""

    positions: Count = 101
    """How many source positions have a score; those past them get weight 0. The default is that of
    `data.max_length` and one more, for the end of the sentence: raise both together."""


class LocationScore(ProductScore):
    """(W_a h)_s (Luong et al. 2015, equation 8). The key of a position is its row of W_a, whatever stands there.

    W_a has a fixed number of rows; positions past them have no score, and get weight 0.
    """

    Options: ClassVar[type[Section]] = LocationOptions
    formula = "(W_a h)_s for the first `positions`"
    paper = "Luong et al. 2015, eq. 8"
    advice = "to see what position alone can do"
    reads_memory = False

    def __init__(self, query_size: int, memory_size: int, *, coverage: bool = False, positions: int = 101) -> None:
        if coverage:
            raise ValueError("location has no keys that coverage could change")
        super().__init__(query_size, memory_size)
        self.positions = positions
        self.location = Linear(query_size, positions, bias=False)

    def make_keys(self, query_size: int, memory_size: int) -> nn.Module:
        return nn.Identity()  # not used: a position's key is its row of W_a

    def keys(self, values: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        *batch, length, _ = values.shape
        rows = self.location.weight[:length]
        return F.pad(rows, (0, 0, 0, length - rows.shape[0])).expand(*batch, -1, -1)
