"""What the checks of lesson 5 compare with: NumPy functions, right ones and those that students hand in."""

import numpy as np

from nmt.course.checking import Answer, Exercise

B, K, T, V = 3, 3, 4, 6  # sentences, hypotheses, target positions, vocabulary
PAD = 1


def log_softmax(logits, axis=-1):
    return logits - np.log(np.exp(logits).sum(axis=axis, keepdims=True))


# 5.2 The log-probability of sentences
def sentence_arguments(rng):
    target = np.array([[5, 4, 2, 3], [2, 3, PAD, PAD], [0, 5, 3, PAD]])
    return 2 * rng.normal(size=(B, T, V)), target, PAD


def token_log_p(logits, target, axis=2):
    return np.take_along_axis(log_softmax(logits, axis), target[:, :, None], axis=2)[:, :, 0]


def sentence_log_p(logits, target, padding):
    return np.where(target == padding, 0, token_log_p(logits, target)).sum(axis=1)


def log_p_without_the_end(logits, target, padding):
    return np.where((target == padding) | (target == 3), 0, token_log_p(logits, target)).sum(axis=1)


# 5.3 A step of beam search
def beam_arguments(rng):
    return rng.normal(size=(B, K)) - 3, log_softmax(2 * rng.normal(size=(B, K, V))), K


def best_of(candidates, beam):
    values = candidates.reshape(len(candidates), -1)
    position = np.argsort(-values, axis=1)[:, :beam]
    return np.take_along_axis(values, position, axis=1), position


def beam_step(log_p, log_next, beam):
    best, position = best_of(log_p[:, :, None] + log_next, beam)
    return best, position // log_next.shape[2], position % log_next.shape[2]


def beam_without_the_parents(log_p, log_next, beam):
    best, position = best_of(log_next, beam)
    return best, position // log_next.shape[2], position % log_next.shape[2]


def beam_divided_by_the_beam(log_p, log_next, beam):
    best, position = best_of(log_p[:, :, None] + log_next, beam)
    return best, position // beam, position % beam


def beam_with_parent_and_token_exchanged(log_p, log_next, beam):
    best, parent, token = beam_step(log_p, log_next, beam)
    return best, token, parent


def beam_with_one_child_each(log_p, log_next, beam):
    token = log_next.argmax(axis=2)[:, :beam]
    return (log_p[:, :, None] + log_next).max(axis=2)[:, :beam], np.arange(beam) + np.zeros_like(token), token


def beam_of_the_first_hypothesis(log_p, log_next, beam):
    best, token = best_of((log_p[:, :, None] + log_next)[:, :1], beam)
    return best, np.zeros_like(token), token


def beam_with_a_product(log_p, log_next, beam):
    best, position = best_of(log_p[:, :, None] * log_next, beam)
    return best, position // log_next.shape[2], position % log_next.shape[2]


def beam_of_the_worst(log_p, log_next, beam):
    worst, position = best_of(-(log_p[:, :, None] + log_next), beam)
    return -worst, position // log_next.shape[2], position % log_next.shape[2]


# 5.5 Search errors and model errors
def blame_arguments(rng):
    reference, output = rng.normal(size=10) - 5, rng.normal(size=10) - 5
    equal = np.arange(10) % 4 == 0
    return reference, np.where(equal, reference, output), equal


def blame(log_p_reference, log_p_output, equal):
    return np.where(equal, 0, np.where(log_p_reference > log_p_output, 1, 2))


# 5.8 The length penalty
def penalty_arguments(rng):
    return -10 * rng.random(size=(B, K)), rng.integers(2, 30, size=(B, K)), 0.5 + rng.random()


def penalised(log_p, length, alpha):
    return log_p / ((5 + length) / 6) ** alpha


EXERCISES = {
    "5.1": Answer(
        "answer_5_1",
        "7d4aa698808cfb8b",
        {
            "0.2": "That is a </s>, which greedy search finds. Compute the sentences that begin with b, too.",
            "0.5": "That is only the first token. A sentence ends with </s>: multiply until there.",
            "0.4": "That is only one factor. Multiply the probabilities of all tokens, </s> included.",
            "0.9": "That is only the last factor. Multiply it by the probability of the first token.",
            "0.15": "That is a sentence of two words. There is a more probable one with a single word.",
        },
    ),
    "5.2": Exercise(
        "sentence_log_p",
        sentence_arguments,
        sentence_log_p,
        {
            "Padding is counted. Set its log-probabilities to 0 before the sum.": (
                lambda logits, target, padding: token_log_p(logits, target).sum(axis=1)
            ),
            "</s> is not counted. It is a token like others: its probability belongs to the sentence's.": (
                log_p_without_the_end
            ),
            "This is the mean over the tokens. log p of a sentence is their sum.": (
                lambda logits, target, padding: (
                    sentence_log_p(logits, target, padding) / (target != padding).sum(axis=1)
                )
            ),
            "This is one number for the whole batch. Sum over the steps alone (dim=1).": (
                lambda logits, target, padding: sentence_log_p(logits, target, padding).sum()
            ),
            "These are logits. Apply log_softmax first: they are no log-probabilities.": (
                lambda logits, target, padding: np.where(
                    target == padding, 0, np.take_along_axis(logits, target[:, :, None], axis=2)[:, :, 0]
                ).sum(axis=1)
            ),
            "This is p itself. Return its logarithm, the sum of the tokens' log p.": (
                lambda logits, target, padding: np.exp(sentence_log_p(logits, target, padding))
            ),
            "The sign is wrong: the loss is -log p, but log p is asked for.": (
                lambda logits, target, padding: -sentence_log_p(logits, target, padding)
            ),
            "The softmax is over the steps (dim=1). It belongs over the vocabulary, dim=2.": (
                lambda logits, target, padding: np.where(target == padding, 0, token_log_p(logits, target, axis=1)).sum(
                    axis=1
                )
            ),
        },
    ),
    "5.3": Exercise(
        "beam_step",
        beam_arguments,
        beam_step,
        {
            "The log-probabilities of the hypotheses are not added: a bad beginning would cost nothing.": (
                beam_without_the_parents
            ),
            "Parent and token are computed with the beam size. Each hypothesis has V candidates: divide by V.": (
                beam_divided_by_the_beam
            ),
            "Parent and token have changed places: position // V is the parent, position % V the token.": (
                beam_with_parent_and_token_exchanged
            ),
            "Each hypothesis has one continuation here. Take the best of all K·V candidates together.": (
                beam_with_one_child_each
            ),
            "Only the first hypothesis is continued. Take the best of all K·V candidates of a sentence.": (
                beam_of_the_first_hypothesis
            ),
            "Logarithms are multiplied. The logarithm of a product is a sum: add them.": beam_with_a_product,
            "These are the least probable candidates. Take those with the largest log p.": beam_of_the_worst,
            "These are probabilities. Return their logarithms, as they come.": (
                lambda log_p, log_next, beam: (
                    np.exp(beam_step(log_p, log_next, beam)[0]),
                    *beam_step(log_p, log_next, beam)[1:],
                )
            ),
        },
    ),
    "5.4": Answer(
        "answer_5_4",
        "d5459f89a405eb05",
        {
            "a": "That is so for log p. BLEU is not what the search maximises: see what happens with the lengths.",
            "c": "More sentences are looked at, and the most probable is taken: log p cannot fall because of that.",
        },
    ),
    "5.5": Exercise(
        "blame",
        blame_arguments,
        blame,
        {
            "1 and 2 have changed places: if the reference is more probable, the search has missed it (1).": (
                lambda reference, output, equal: np.where(equal, 0, np.where(reference > output, 2, 1))
            ),
            "Outputs that equal their references are right: they get 0, whatever the log-probabilities.": (
                lambda reference, output, equal: np.where(reference > output, 1, 2)
            ),
            "All differences count as search errors. Compare the log-probabilities.": (
                lambda reference, output, equal: np.where(equal, 0, 1)
            ),
            "All differences count as model errors. Compare the log-probabilities.": (
                lambda reference, output, equal: np.where(equal, 0, 2)
            ),
            "`equal` is used the wrong way round: 0 belongs where it is True.": (
                lambda reference, output, equal: blame(reference, output, ~equal)
            ),
        },
    ),
    "5.6": Answer(
        "answer_5_6",
        "2fd973aee6a9f9e9",
        {
            "b": "Rounding errors are about a millionth of these sums.",
            "c": "In training there is no beam at all: the decoder reads the reference.",
        },
    ),
    "5.7": Answer(
        "answer_5_7",
        "7e53bed857eaf1dc",
        {
            "a": "Compare the log p of one very improbable token with the mean log p of a whole sentence.",
            "b": "The mean log p of the translations is about that of a single token with probability 0.003.",
        },
    ),
    "5.8": Exercise(
        "penalised",
        penalty_arguments,
        penalised,
        {
            "log p is multiplied by lp. Divide: it is negative, and longer sentences are to get larger scores.": (
                lambda log_p, length, alpha: log_p * ((5 + length) / 6) ** alpha
            ),
            "This divides by a power of the length alone. Equation 14 has (5 + length) / (5 + 1).": (
                lambda log_p, length, alpha: log_p / length**alpha
            ),
            "The power is only over the numerator: (5 + 1) must have it as well.": (
                lambda log_p, length, alpha: log_p / ((5 + length) ** alpha / 6)
            ),
            "The division by 6, (5 + 1), is missing.": lambda log_p, length, alpha: log_p / (5 + length) ** alpha,
            "lp is multiplied by α. It is the exponent: **.": (
                lambda log_p, length, alpha: log_p / ((5 + length) / 6 * alpha)
            ),
            "α is not used: it is the exponent of (5 + length) / 6.": (
                lambda log_p, length, alpha: log_p / ((5 + length) / 6)
            ),
            "This is the mean log p of a token. Wu et al. divide by lp instead.": (
                lambda log_p, length, alpha: log_p / length
            ),
            "This is lp alone. s(y) is log p divided by it.": (
                lambda log_p, length, alpha: ((5 + length) / 6) ** alpha
            ),
        },
    ),
    "5.9": Answer(
        "answer_5_9",
        "697b2d32491797f7",
        {
            "0": "Without the penalty the line of K = 20 is the lowest of all.",
            "0.0": "Without the penalty the line of K = 20 is the lowest of all.",
            "0.5": "The line still rises to the right of it.",
            "1": "The line still rises to the right of it.",
            "1.0": "The line still rises to the right of it.",
            "2": "The line is past its highest point there.",
            "2.0": "The line is past its highest point there.",
            "3": "There the translations are too long: see the right half.",
            "3.0": "There the translations are too long: see the right half.",
        },
    ),
    "5.10": Answer(
        "answer_5_10",
        "ab8405ab8e185c22",
        {
            "a": "That may be so if it reads its next mistakes, too. Here it reads right tokens after the first.",
            "b": "Each right token that is read, and attention, changes the state: what is left of the mistake then?",
        },
    ),
    "5.11": Exercise(
        "inverse_sigmoid",
        lambda rng: (np.array([1.0, 2.0, 5.0, *rng.integers(50, 900, size=4)]), float(rng.integers(80, 200))),
        lambda i, k: k / (k + np.exp(i / k)),
        {
            "This is the plain sigmoid, 1 / (1 + exp(i / k)): it begins at 1/2. The two k are missing.": (
                lambda i, k: 1 / (1 + np.exp(i / k))
            ),
            "This grows with i: the sign of the exponent is wrong.": lambda i, k: k / (k + np.exp(-i / k)),
            "This is 1 - ε, the probability of the model's own token.": lambda i, k: 1 - k / (k + np.exp(i / k)),
            "i is not divided by k in the exponent.": lambda i, k: k / (k + np.exp(i)),
            "The division by k is outside: exp(i / k), not exp(i) / k.": lambda i, k: k / (k + np.exp(i) / k),
            "This is the exponential decay. The inverse sigmoid stays near 1 at first.": lambda i, k: np.exp(-i / k),
        },
    ),
    "5.12": Answer(
        "answer_5_12",
        "11b62107b056e9e0",
        {
            "50": "This curve is near 0 long before the end.",
            "100": "This curve passes 1/2 after about 460 updates. Look at the right edge.",
            "250": "This curve is still near 1 at the end.",
        },
    ),
}
