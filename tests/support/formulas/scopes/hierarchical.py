import numpy as np

from support.formulas import weights_over


def weights(h, scores, t, p, options):
    """Segment by segment. `options` have the number of each position's segment, the vectors, the score's formula."""
    numbers, vectors, score_of, normalized = (options[k] for k in ("segments", "vectors", "score_of", "normalized"))
    of_score = {name.removeprefix("score."): matrix for name, matrix in p.items()}
    within, importance = [], []
    for g in range(max(numbers) + 1):
        beta = weights_over(scores, [s for s, number in enumerate(numbers) if number == g], normalized)
        summary = sum(weight * v for weight, v in zip(beta, vectors, strict=True))
        within.append(beta)
        importance.append(score_of(h, summary, g, of_score) if beta.any() else None)
    gamma = weights_over(importance, range(len(importance)), normalized)
    return np.array([gamma[g] * within[g][s] for s, g in enumerate(numbers)])
