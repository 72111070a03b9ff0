"""How sharp attention is, and how evenly it covers the source, while a model reads the target (forced decoding).

Shapes: T steps, one for each target token and one for `<eos>`; S source tokens, and `<eos>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from nmt.evaluation.alignment import BLOCK
from nmt.evaluation.report import ModelEvaluation, display_names, model_table
from nmt.text.corpus import ParallelText

if TYPE_CHECKING:
    from nmt.translator import Translator

LITTLE, MUCH = 0.2, 2.0  # attention in all, below and above which a source token is counted
HEADS = {
    "entropy": "entropy",
    "unattended": f"below {LITTLE}",
    "overattended": f"above {MUCH:g}",
    "deviation": "deviation",
}
NOTES = (
    "entropy: bits of the weights of a step; 0 if all are on one token",
    f"below {LITTLE}, above {MUCH:g}: percent of the source tokens whose weights over all steps have such a sum",
    "deviation: of these sums from 1, in the mean",
)


def statistics(translator: Translator, text: ParallelText, most: int | None = None) -> dict[str, float]:
    """Means over the pairs of a text, or over `most` of them, evenly spaced; empty without attention.

    - `entropy`: −Σ_s α_ts log₂ α_ts of a step's weights, in bits, mean over all steps; weights that do not sum to 1 are
      divided by their sum.
    - Of the coverage c_s = Σ_t α_ts (Tu et al. 2016, section 3) of the source tokens without `<eos>`: `unattended` and
      `overattended`, the fractions below 0.2 and above 2, and `deviation`, the mean of |c_s − 1|.
    """
    step = 1 if most is None else -(-len(text.source) // most)
    pairs = [(s, t) for s, t in zip(text.source[::step], text.target[::step], strict=True) if s.strip() and t.strip()]
    entropies, coverages = [np.zeros(0)], [np.zeros(0)]
    for start in range(0, len(pairs) if translator.has_attention else 0, BLOCK):
        for weights in translator.forced_attention(*zip(*pairs[start : start + BLOCK], strict=True)):
            entropies.append(entropy(weights.numpy()))
            coverages.append(weights.numpy()[:, :-1].sum(axis=0))
    bits, coverage = np.concatenate(entropies), np.concatenate(coverages)
    if not (len(bits) and len(coverage)):
        return {}
    return {
        "entropy": float(bits.mean()),
        "unattended": float((coverage < LITTLE).mean()),
        "overattended": float((coverage > MUCH).mean()),
        "deviation": float(np.abs(coverage - 1).mean()),
    }


def entropy(weights: Float[np.ndarray, "T S"]) -> Float[np.ndarray, " T"]:
    """The entropy of each step that has weights, in bits."""
    sums = weights.sum(axis=1, dtype=np.float64, keepdims=True)
    shares = (weights / np.where(sums > 0, sums, 1))[sums[:, 0] > 0]
    return -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1)


def table(evaluations: Sequence[ModelEvaluation]) -> str:
    """The statistics of some models for a terminal, after an empty line; the empty string if none has attention."""
    if not any(evaluation.attention for evaluation in evaluations):
        return ""
    factors = [1, 100, 100, 1]
    cells = [
        [f"{f * e.attention[name]:.2f}" if e.attention else "-" for name, f in zip(HEADS, factors, strict=True)]
        for e in evaluations
    ]
    names = display_names([evaluation.checkpoint for evaluation in evaluations])
    caption = "Attention while the reference is read"
    return "\n".join(["\n", caption, model_table(["", *HEADS.values()], names, cells), *NOTES])
