"""Luong's name for the additive score."""

from nmt.model.scores.additive import AdditiveScore


class ConcatScore(AdditiveScore):
    """v_aᵀ tanh(W_a [h; v_s]) (Luong et al. 2015, section 3.1).

    It is `additive` with W_a split in two, W_a [h; v_s] = W h + U v_s: the same function under another name.
    """

    formula = "v_aᵀ tanh(W_a [h; v_s])"
    paper = "Luong et al. 2015, 3.1"
    same_as = "additive"
    advice = "the same function as `additive`, under Luong's name"
