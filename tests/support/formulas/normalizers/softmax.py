from support.formulas import softmax


def weights(scores, p):
    return softmax(scores)
