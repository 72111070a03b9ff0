"""A lexical shortlist: which target tokens may occur in the translation of a sentence, by its source tokens.

See L'Hostis et al. 2016 and Shi and Knight 2017; `nmt.fast` searches among them.

Shapes: V source vocabulary, n tokens likely for each, m frequent tokens, B sentences of S tokens, C candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nmt.data.ibm1 import Side, translations
from nmt.text.vocabulary import PAD, SPECIALS, Vocabulary

LIKELIEST, FREQUENT = 60, 1000
LEAST_PROBABILITY = 1e-4
SMALL = 4 * FREQUENT  # target types, of which it is not worth while to select


class Shortlist(NamedTuple):
    """The target tokens that are likely for each source token, and those that are frequent in all sentences.

    Ids have 16 bits if those of the whole target vocabulary fit. A source token with fewer than n has PAD behind them.
    """

    likeliest: Int[Tensor, "V n"]
    frequent: Int[Tensor, " m"]


def learn(source: Side, target: Side, types: tuple[Vocabulary, Vocabulary]) -> Shortlist | None:
    """The selection from training pairs: `LIKELIEST` types each by IBM model 1, and the `FREQUENT` most frequent ones.

    A target type that is spelled as the source type is always among its likely ones, so that names can be copied.
    Returns None for a vocabulary that is too small to be worth it.
    """
    if target.types <= SMALL:
        return None
    met = translations(source, target)
    order = np.lexsort((-met.probability, met.source))
    of, to, probability = (part[order] for part in met)
    rank = np.arange(len(of)) - np.searchsorted(of, of)
    kept = (rank < LIKELIEST) & (probability >= LEAST_PROBABILITY)
    likeliest = np.full((source.types, LIKELIEST + 1), PAD)
    likeliest[of[kept], rank[kept]] = to[kept]
    numbers = {token: number for number, token in enumerate(types[1].tokens) if number >= len(SPECIALS)}
    likeliest[:, LIKELIEST] = [numbers.get(token, PAD) for token in types[0].tokens]
    counts = np.bincount(target.ids, minlength=target.types)
    frequent = np.argsort(-counts, kind="stable")[:FREQUENT]
    dtype = torch.int16 if target.types <= 2**15 else torch.int32
    return Shortlist(torch.from_numpy(likeliest).to(dtype), torch.from_numpy(frequent).to(dtype))


def joined(shortlists: Sequence[Shortlist | None]) -> Shortlist | None:
    """What any of several shortlists for the same vocabularies has; None, which is all types, if one is None."""
    known = [selection for selection in shortlists if selection is not None]
    if len(known) < len(shortlists):
        return None
    first, *others = known
    if all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True)):
        return first
    likeliest = torch.cat([s.likeliest for s in known], dim=1)
    likeliest = likeliest.clamp(min=PAD).sort(dim=1, descending=True).values  # UNK is always a candidate
    likeliest[:, 1:][likeliest[:, 1:] == likeliest[:, :-1]] = PAD  # of equal ones all but the first
    likeliest = likeliest.sort(dim=1, descending=True).values
    widest = int((likeliest != PAD).sum(dim=1).max())
    return Shortlist(likeliest[:, :widest].clone(), torch.cat([s.frequent for s in known]).unique())


def tokens_of(shortlist: Shortlist, sources: Int[Tensor, "B S"]) -> Int[Tensor, "B C"]:
    """The target tokens that a translation of each sentence may have, some of them twice. `sources` are on the CPU."""
    always = torch.cat([torch.arange(len(SPECIALS)), shortlist.frequent.long()])
    likely = shortlist.likeliest[sources].flatten(1).long()
    return torch.cat([always.expand(len(sources), -1), likely], dim=1)
