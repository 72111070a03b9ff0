"""Diverse beam search (Vijayakumar et al. 2018): groups of hypotheses that differ."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt.decoding.beam_search import best_candidates


class DiverseGroups:
    """Chooses the candidates of beam search (`Choose`): the K hypotheses are G groups, each with a beam of K / G.

    Hypothesis k is of group k mod G. In the choice of group g, a token loses λ for each hypothesis of groups 0 to g − 1
    that goes on with it at this step: their Hamming diversity (algorithm 1, with the diversity of section 4.2). For one
    whose n tokens so far are all the same (those of a prefix not counted) it loses λ n more, which the paper does not
    have: without that, groups often end alike. Scores are those of the model. A group is done when K / G of its
    hypotheses have ended.
    """

    def __init__(self, groups: int, strength: float, eos: int) -> None:
        self.groups, self.strength, self.eos = groups, strength, eos
        self.ended: dict[int, list[int]] = {}  # of each sentence: how many hypotheses of each group
        self.chosen: dict[int, int] = {}  # of each sentence: how many tokens, which are not of a prefix

    def __call__(
        self, totals: Float[Tensor, "B K V"], count: int, ids: Int[Tensor, "B K L"], indices: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
        size, rows = count // 2 // self.groups, totals.shape[1]
        sentences = indices.tolist()
        ended = torch.tensor([self.ended.get(i, [0] * self.groups) for i in sentences], device=totals.device)
        lengths = torch.tensor([self.chosen.get(i, 0) for i in sentences], device=totals.device)
        ending, going_on = [], []
        earlier: list[tuple[Tensor, Tensor, Tensor]] = []
        for g in range(self.groups):
            columns = torch.arange(g if rows > 1 else 0, rows, self.groups, device=totals.device)
            losses = self._losses(totals[:, columns], ids[:, columns], lengths, earlier)
            scores, parents, tokens = self._best(totals[:, columns], losses, 2 * size)
            parents = columns[parents] if len(columns) else parents
            scores = scores.masked_fill(ended[:, g, None] >= size, -torch.inf)
            is_end = (tokens == self.eos) & (scores > -torch.inf)
            ends = is_end[:, :size] & (is_end[:, :size].cumsum(dim=1) <= size - ended[:, g, None])
            ended[:, g] += ends.sum(dim=1)
            eos = torch.full_like(parents[:, :size], self.eos)
            ending.append((scores[:, :size].masked_fill(~ends, -torch.inf), parents[:, :size], eos))
            best = (tokens == self.eos).to(torch.uint8).sort(dim=1, stable=True).indices[:, :size]
            scores, parents, tokens = (x.gather(1, best) for x in (scores, parents, tokens))
            is_out = (tokens == self.eos) | (ended[:, g, None] >= size)  # what only fills up, and a group that is done
            is_out |= scores == -torch.inf
            scores = scores.masked_fill(is_out, -torch.inf)
            tokens = tokens.masked_fill(tokens == self.eos, int(self.eos == 0))
            going_on.append((scores, parents, tokens))
            earlier.append((ids.gather(1, parents.unsqueeze(2).expand(-1, -1, ids.shape[2])), tokens, ~is_out))
        self.ended |= zip(sentences, ended.tolist(), strict=True)
        is_choice = (totals > -torch.inf).sum(dim=2).amax(dim=1) > 1  # a prefix leaves one token
        self.chosen |= zip(sentences, (lengths + is_choice).tolist(), strict=True)
        # Those that end, then those that go on, the best of each group first.
        ends_first = [torch.cat(x, dim=1) for x in zip(*ending, strict=True)]
        others = [torch.stack(x, dim=2).flatten(1) for x in zip(*going_on, strict=True)]
        scores, parents, tokens = (torch.cat(pair, dim=1) for pair in zip(ends_first, others, strict=True))
        return scores, parents, tokens

    def _losses(
        self,
        totals: Float[Tensor, "B R V"],
        ids: Int[Tensor, "B R L"],
        lengths: Int[Tensor, " B"],
        earlier: Sequence[tuple[Int[Tensor, "B H L"], Int[Tensor, "B H"], Bool[Tensor, "B H"]]],
    ) -> Float[Tensor, "B R V"]:
        """What the tokens of a group lose for hypotheses of earlier groups: ids so far, tokens, and which count."""
        losses = torch.zeros_like(totals)
        for others, tokens, is_one in earlier:
            is_same = (ids.unsqueeze(2) == others.unsqueeze(1)).all(dim=3)  # (B R H)
            times = (1 + is_same * lengths.view(-1, 1, 1)) * is_one.unsqueeze(1)
            losses.scatter_add_(2, tokens.unsqueeze(1).expand_as(times), self.strength * times.to(losses.dtype))
        return losses

    def _best(
        self, totals: Float[Tensor, "B R V"], losses: Float[Tensor, "B R V"], count: int
    ) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
        """The model's scores, the parents and the tokens of a group's `count` best candidates, filled up with −∞."""
        b, r, v = totals.shape
        scores = totals.new_full((b, count), -torch.inf)
        parents, tokens = (torch.full((b, count), value, device=totals.device) for value in (0, self.eos))
        if r:
            _, of, which = best_candidates(totals - losses, count)
            found = of.shape[1]
            parents[:, :found], tokens[:, :found] = of, which
            scores[:, :found] = totals.flatten(1).gather(1, of * v + which)
        return scores, parents, tokens
