from support.formulas import weights_over, window_around


def weights(h, scores, t, p, options):
    centre = min(t, len(scores) - 1)
    return weights_over(scores, window_around(centre, options["window"], len(scores)), options["normalized"])
