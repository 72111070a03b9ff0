"""A beam search as a tree: every hypothesis that it considered, and what became of it.

It is built from each step's candidates, which `watch` of `beam_search` reports.
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

    `parent` is the index of another node in the tree, or None for a hypothesis of one token. `length` counts tokens,
    `log_probability` is that of all of them in nats, `penalty` the length penalty, and `score` their quotient. `fate`:
    the search went on from it (`kept`, also if it stopped there), left it out (`cut`), or it ended with EOS
    (`finished`). `rank` is that among the results, from 0, if it is one of them.
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
    steps: Sequence[Candidates], results: Sequence[Hypothesis], *, eos: int, beam_size: int, alpha: float
) -> list[Node]:
    """The nodes of one sentence's search, parents before children and better ones first among those of one length.

    `steps` are the candidates of all steps of a search for that sentence alone, and `results` its results. Of each step
    there are the 2K best candidates: the search considers no more, because K of them may end.
    """
    ranks = {hypothesis.ids: rank for rank, hypothesis in enumerate(results)}
    nodes: list[Node] = []
    ids: list[tuple[int, ...]] = []  # of each node
    rows: list[int | None] = [None]  # the node that each row of the last step stands for
    for length, candidates in enumerate(steps, start=1):
        penalty, continued = length_penalty(length, alpha), set(candidates.going_on[0].tolist())
        scores, parents, tokens = (x[0].tolist() for x in (candidates.scores, candidates.parents, candidates.tokens))
        node_of: dict[int, int] = {}
        for column, (score, row, token) in enumerate(zip(scores, parents, tokens, strict=True)):
            parent = rows[row]
            if score == float("-inf") or (parent is None and length > 1):
                continue  # only fills up the beam
            ends = token == eos and column < beam_size
            fate: Fate = "finished" if ends else "kept" if column in continued and token != eos else "cut"
            ids.append((*(() if parent is None else ids[parent]), token))
            rank = ranks.get(ids[-1]) if fate != "cut" else None
            node_of[column] = len(nodes)
            nodes.append(Node(parent, token, length, score, penalty, fate, rank))
        rows = [node_of.get(column) for column in candidates.going_on[0].tolist()]
    return nodes
