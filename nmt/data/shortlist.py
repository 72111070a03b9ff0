"""A lexical shortlist: which target tokens may occur in the translation of a sentence, by its source tokens.

See L'Hostis et al. 2016 and Shi and Knight 2017; `nmt.data.ibm1` learns it, `nmt.fast` searches among its tokens.

Shapes: V source vocabulary, n tokens likely for each, m frequent tokens, B sentences of S tokens, C candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from nmt.text.vocabulary import PAD, SPECIALS


class Shortlist(NamedTuple):
    """The target tokens that are likely for each source token, and those that are frequent in all sentences.

    Ids have 16 bits if those of the whole target vocabulary fit. A source token with fewer than n has PAD behind them.
    """

    likeliest: Int[Tensor, "V n"]
    frequent: Int[Tensor, " m"]


def joined(shortlists: Sequence[Shortlist | None]) -> Shortlist | None:
    """What any of several shortlists for the same vocabularies has; None, which is all tokens, if one is None."""
    several = [shortlist for shortlist in shortlists if shortlist is not None]
    if len(several) < len(shortlists):
        return None
    first = several[0]
    if all(torch.equal(a, b) for other in several for a, b in zip(first, other, strict=True)):
        return first
    likeliest = torch.cat([s.likeliest for s in several], dim=1)
    likeliest = likeliest.clamp(min=PAD).sort(dim=1, descending=True).values  # UNK is always a candidate
    likeliest[:, 1:][likeliest[:, 1:] == likeliest[:, :-1]] = PAD  # of equal ones all but the first
    likeliest = likeliest.sort(dim=1, descending=True).values
    widest = int((likeliest != PAD).sum(dim=1).max())
    return Shortlist(likeliest[:, :widest].clone(), torch.cat([s.frequent for s in several]).unique())


def tokens_of(shortlist: Shortlist, sources: Int[Tensor, "B S"]) -> Int[Tensor, "B C"]:
    """The target tokens that a translation of each sentence may have, some of them twice. `sources` are on the CPU."""
    always = torch.cat([torch.arange(len(SPECIALS)), shortlist.frequent.long()])
    likely = shortlist.likeliest[sources].flatten(1).long()
    return torch.cat([always.expand(len(sources), -1), likely], dim=1)
