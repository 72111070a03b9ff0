"""A beam search as a tree: every hypothesis that it looked at, and what became of it.

The search itself keeps no tree: `watch` of `beam_search` shows each step's candidates, which are put
together here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nmt.decoding.beam_search import Candidates, Hypothesis, length_penalty

Fate: TypeAlias = Literal["kept", "cut", "finished"]


@dataclass(frozen=True)
class Node:
    """A hypothesis: that of its parent, and one more token.

    `parent` is the place of another node in the tree, or None for a hypothesis of one token. `length` counts tokens,
    `log_probability` is that of all of them in nats, `penalty` the length penalty, and `score` their quotient. `fate`:
    the search went on from it (`kept`, also if it stopped there), left it out (`cut`), or it ended with EOS
    (`finished`). `rank` is its place among the results, from 0, if it is one of them.
    """

    parent: int | None
    token: int
    length: int
    log_probability: float
    penalty: float
    fate: Fate
    rank: int | None

    @property
    def score(self) -> float:
        return self.log_probability / self.penalty


def beam_tree(
    watched: Sequence[Candidates], found: Sequence[Hypothesis], *, eos: int, beam_size: int, alpha: float
) -> list[Node]:
    """The nodes of one sentence's search, parents before children and better ones first among those of one length.

    `watched` are the candidates of all steps of a search for that sentence alone, and `found` its results. Of each step
    there are the 2K best candidates: the search looks at no more, because K of them may end.
    """
    ranks = {hypothesis.ids: rank for rank, hypothesis in enumerate(found)}
    nodes: list[Node] = []
    ids: list[tuple[int, ...]] = []  # of each node
    rows: list[int | None] = [None]  # the node that each row of the last step stands for
    for length, candidates in enumerate(watched, start=1):
        penalty, continued = length_penalty(length, alpha), set(candidates.going_on[0].tolist())
        scores, parents, tokens = (x[0].tolist() for x in (candidates.scores, candidates.parents, candidates.tokens))
        place_of: dict[int, int] = {}
        for place, (score, row, token) in enumerate(zip(scores, parents, tokens, strict=True)):
            parent = rows[row]
            if score == float("-inf") or (parent is None and length > 1):
                continue  # only fills up the beam
            ends = token == eos and place < beam_size
            fate: Fate = "finished" if ends else "kept" if place in continued and token != eos else "cut"
            own = (*(() if parent is None else ids[parent]), token)
            place_of[place] = len(nodes)
            nodes.append(Node(parent, token, length, score, penalty, fate, ranks.get(own) if fate != "cut" else None))
            ids.append(own)
        rows = [place_of.get(place) for place in candidates.going_on[0].tolist()]
    return nodes


def greedy_rank(nodes: Sequence[Node]) -> int | None:
    """The rank of what greedy search finds, which always goes on with the best child; None if the beam has lost it."""
    best: dict[int | None, int] = {}
    for place, node in enumerate(nodes):
        best.setdefault(node.parent, place)
    last = None
    while last in best:
        last = best[last]
    return None if last is None else nodes[last].rank
