from support.formulas import softmax_over, window_around


def weights(h, scores, t, p, options):
    centre = min(t, len(scores) - 1)
    return softmax_over(scores, window_around(centre, options["window"], len(scores)))
