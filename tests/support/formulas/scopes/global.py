from support.formulas import weights_over


def weights(h, scores, t, p, options):
    return weights_over(scores, range(len(scores)), options["normalized"])
