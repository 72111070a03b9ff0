from support.formulas.gated import sigmoid
from support.formulas.normalizers import alpha_entmax


def weights(scores, p):
    return alpha_entmax(scores, 1.01 + 0.98 * sigmoid(p["logit"]))
