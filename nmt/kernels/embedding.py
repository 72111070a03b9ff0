"""Embeddings. `torch.nn.Embedding` is the plain twin."""

from __future__ import annotations

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.kernels.initial import normal
from nmt.kernels.shared import for_all_uses


class Embedding(nn.Embedding):
    """`torch.nn.Embedding` from N(0, 1/E). Its weight may be a `Linear`'s too, that of the output layer."""

    def reset_parameters(self) -> None:
        normal(self.weight)

    def forward(self, input: Int[Tensor, "*N"]) -> Float[Tensor, "*N E"]:
        return F.embedding(input, for_all_uses(self.weight))
