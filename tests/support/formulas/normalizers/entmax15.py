from support.formulas.normalizers import alpha_entmax


def weights(scores, p):
    return alpha_entmax(scores, 1.5)
