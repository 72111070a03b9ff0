"""Hypotheses that leave source tokens without attention rank lower."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from nmt.decoding.beam_search import Hypothesis
from nmt.model.scopes import LocalScope, Scope

LEAST = 0.001  # lower coverage counts as this: hard and sparse attention may give a position no weight at all


def coverage_penalty(attention: Float[Tensor, "T S"], beta: float) -> float:
    """β · Σ_s log min(max(Σ_t α_ts, 0.001), 1), at most 0 (Wu et al. 2016, equation 14). Positions include `<eos>`.

    The lower bound is not in the paper: without it a position without any weight would cost infinitely much.
    """
    covered = attention.sum(dim=0).clamp(LEAST, 1)
    return beta * float(covered.log().sum())


def rank(beta: float, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Hypotheses with attention, by the sum of their scores and coverage penalties, the best first."""

    def penalised(hypothesis: Hypothesis) -> float:
        assert hypothesis.attention is not None
        return hypothesis.score + coverage_penalty(hypothesis.attention, beta)

    return sorted(hypotheses, key=penalised, reverse=True)


def unfit(has_attention: bool, *scopes: type[Scope]) -> str:
    """Why a model cannot have a coverage penalty; empty if it can."""
    if not has_attention:
        return "coverage_penalty needs attention, and wiring is none: set coverage_penalty to 0"
    if any(issubclass(scope, LocalScope) for scope in scopes):
        return "coverage_penalty needs attention to all source tokens, and scope is local: set coverage_penalty to 0"
    return ""
