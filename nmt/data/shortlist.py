"""A lexical shortlist (L'Hostis et al. 2016; Shi and Knight 2017): the target tokens that a translation may have.

Shapes: V source vocabulary, n tokens likely for each, m frequent tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor


class Shortlist(NamedTuple):
    """The target tokens that are likely for each source token, and those that are frequent in all sentences.

    Ids have 16 bits if those of the whole target vocabulary fit. A source token with fewer than n has PAD behind them.
    """

    likeliest: Int[Tensor, "V n"]
    frequent: Int[Tensor, " m"]


def joined(shortlists: Sequence[Shortlist | None]) -> Shortlist | None:
    """What any of several shortlists for the same vocabularies has; None, which is all tokens, if one is None."""
    several: list[Shortlist] = []
    for shortlist in shortlists:
        if shortlist is None:
            return None
        if not any(all(map(torch.equal, shortlist, other)) for other in several):
            several.append(shortlist)
    return Shortlist(torch.cat([s.likeliest for s in several], dim=1), torch.cat([s.frequent for s in several]))
