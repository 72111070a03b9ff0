"""Sequences of target tokens that are written once at most."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.search_options.blocking import block


def block_ngrams(n: int, log_probabilities: Float[Tensor, "B K V"], ids: Int[Tensor, "B K L"]) -> None:
    """−∞, in place, for each id that would end an n-gram which the ids behind BOS have already."""
    written = ids[:, :, 1:]
    if written.shape[2] < n:
        return
    ngrams = written.unfold(2, n, 1)  # (B K L−n n)
    last = written[:, :, written.shape[2] - n + 1 :]  # the n − 1 ids that the next one follows
    at = (ngrams[:, :, :, :-1] == last.unsqueeze(2)).all(dim=3).nonzero(as_tuple=True)
    if len(at[0]):
        mask = torch.zeros_like(log_probabilities, dtype=torch.bool)
        mask[at[0], at[1], ngrams[at][:, -1]] = True
        block(log_probabilities, mask)
