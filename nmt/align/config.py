"""The config section `training.guided_alignment`, and the loss that it sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from nmt.registry import Count, PathString, Positive, Section

if TYPE_CHECKING:
    from nmt.model.attention import Alignment

LEXICAL = "lexical"  # in the place of a file: links that are made from the training text


class GuidedAlignmentConfig(Section):
    """Guided alignment (Mi et al. 2016; Chen et al. 2016; Liu et al. 2016): attention also learns from word links."""

    weight: Positive = 0.5
    """The factor of the cross-entropy between links and attention weights, which is added to the loss."""
    links: PathString = LEXICAL
    """`lexical`: links that an alignment model learns from the training text. Or a file in Pharaoh format, `0-0 1-2`, a
    line per line of the training text, with links between words (separated by white space), from 0."""

    half_life: Count | None = None
    """The number of updates after which the weight is halved, again and again. By default it stays."""

    def loss(self, alignment: Alignment, links: Float[Tensor, "B T S"], step: int = 0) -> Float[Tensor, ""]:
        """−w · Σ_t Σ_s A_ts log α_ts, in nats (Chen et al. 2016, section 3.2; Liu et al. 2016, equation 8).

        w = weight · 2^(−step / half_life), after `step` updates. A row of A sums to 1, or is 0 for a target position
        without links. Source positions with weight 0, which the scope does not see, have no loss.
        """
        weights, positions = alignment
        if positions is not None:  # of a window
            positions = positions.expand_as(weights)
            inside = (positions >= 0) & (positions < links.shape[2])
            links = links.gather(2, positions.clamp(0, links.shape[2] - 1)) * inside
        seen = weights > 0
        logarithms = weights.where(seen, 1).float().log()
        weight = self.weight if self.half_life is None else self.weight * 0.5 ** (step / self.half_life)
        return -weight * (links * logarithms).sum()
