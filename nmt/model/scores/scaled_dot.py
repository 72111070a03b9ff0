"""Vaswani's scaled dot score."""

from nmt.model.scores.dot import DotScore


class ScaledDotScore(DotScore):
    """hᵀ v_s / √H (Vaswani et al. 2017, section 3.2.1). Needs H = M."""

    formula = "hᵀ v_s / √H"
    paper = "Vaswani et al. 2017, 3.2.1"
    advice = "as `dot`, with a softmax that does not saturate"
    equal_sizes_or = "scaled_general"
    scaled = True
