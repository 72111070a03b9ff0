"""Vocabulary selection: which target types may occur in the translation of a sentence, by the words it consists of.

The output layer, its softmax and a beam's search for the best are most of the work of a step, and nearly all of it is
for words that have nothing to do with the sentence (L'Hostis et al. 2016; Shi and Knight 2017).

Shapes: S source types, n types likely for each, m frequent types, B sentences of L tokens at most, C candidates.
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


class Selection(NamedTuple):
    """The target types that are likely beside each source type, and those that are frequent in all sentences.

    Ids are 16 bits wide if those of all target types are. Where a source type has fewer than n, it has PAD instead.
    """

    likeliest: Int[Tensor, "S n"]
    frequent: Int[Tensor, " m"]


def learn(source: Side, target: Side, types: tuple[Vocabulary, Vocabulary]) -> Selection | None:
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
    return Selection(torch.from_numpy(likeliest).to(dtype), torch.from_numpy(frequent).to(dtype))


def joined(selections: Sequence[Selection | None]) -> Selection | None:
    """What any of several selections for the same vocabularies has; None, which is all types, if one is None."""
    known = [selection for selection in selections if selection is not None]
    if len(known) < len(selections):
        return None
    first, *others = known
    if all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True)):
        return first
    likeliest = torch.cat([s.likeliest for s in known], dim=1)
    likeliest = likeliest.clamp(min=PAD).sort(dim=1, descending=True).values  # UNK is always a candidate
    likeliest[:, 1:][likeliest[:, 1:] == likeliest[:, :-1]] = PAD  # of equal ones all but the first
    likeliest = likeliest.sort(dim=1, descending=True).values
    widest = int((likeliest != PAD).sum(dim=1).max())
    return Selection(likeliest[:, :widest].clone(), torch.cat([s.frequent for s in known]).unique())


def of_all_sentences(selection: Selection) -> Int[Tensor, " M"]:
    """The target types that are candidates of every sentence, some of them twice."""
    return torch.cat([torch.arange(len(SPECIALS)), selection.frequent.long()])


def candidates(selection: Selection, sources: Int[Tensor, "B L"]) -> tuple[Int[Tensor, " M"], Int[Tensor, "B C"]]:
    """The target types of all sentences, `SPECIALS` first, and what each sentence has besides, with PAD behind it.

    Both are in the order of their ids, each type once. What a sentence has depends on it alone, not on those beside
    it. `sources` are padded ids, on the CPU.
    """
    always, likeliest = of_all_sentences(selection).unique(), selection.likeliest[sources].flatten(1).long()
    largest = max(int(ids.max()) for ids in (always, likeliest) if ids.numel())
    chosen = torch.zeros(len(sources), largest + 1, dtype=torch.bool)
    chosen.scatter_(1, likeliest, True)
    chosen[:, always] = False
    sentence, types = chosen.nonzero(as_tuple=True)
    counts = chosen.sum(dim=1)
    place = torch.arange(len(types)) - (counts.cumsum(0) - counts)[sentence]
    padded = torch.full((len(sources), int(counts.max())), PAD)
    padded[sentence, place] = types
    return always, padded
