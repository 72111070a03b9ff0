from support.formulas import softmax_over


def weights(h, scores, t, p, options):
    return softmax_over(scores, range(len(scores)))
