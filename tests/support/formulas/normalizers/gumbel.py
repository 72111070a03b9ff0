from support.formulas import softmax


def weights(scores, p):
    """Without noise, and at temperature 1."""
    return softmax(scores)
