import numpy as np

from support.formulas import softmax_over


def weights(h, scores, t, p, options):
    """Segment by segment. `options` have the number of each position's segment, the vectors, the score's formula."""
    numbers, vectors, score_of = options["segments"], options["vectors"], options["score_of"]
    of_score = {name.removeprefix("score."): matrix for name, matrix in p.items()}
    within, importance = [], []
    for g in range(max(numbers) + 1):
        beta = softmax_over(scores, [s for s, number in enumerate(numbers) if number == g])
        summary = sum(weight * v for weight, v in zip(beta, vectors, strict=True))
        within.append(beta)
        importance.append(score_of(h, summary, g, of_score) if beta.any() else None)
    gamma = softmax_over(importance, range(len(importance)))
    return np.array([gamma[g] * within[g][s] for s, g in enumerate(numbers)])
