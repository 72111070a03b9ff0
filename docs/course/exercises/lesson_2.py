"""What the checks of lesson 2 compare with: NumPy functions, right ones and those that students hand in."""

import numpy as np

from nmt.course.checking import Answer, Exercise

B, S, H, M = 3, 5, 4, 6  # sentences, source positions, decoder state, memory vector: all different


# 2.1 The score: e_s = v · tanh(W q + k_s)
def score_arguments(rng):
    return rng.normal(size=(B, H)), rng.normal(size=(B, S, H)), rng.normal(size=(H, H)), rng.normal(size=H)


def additive_scores(query, keys, W, v):
    return np.tanh((query @ W.T)[:, None] + keys) @ v


def scores_without_tanh(query, keys, W, v):
    return ((query @ W.T)[:, None] + keys) @ v


def scores_not_transposed(query, keys, W, v):
    return np.tanh((query @ W)[:, None] + keys) @ v


def scores_of_two_tanh(query, keys, W, v):
    return (np.tanh(query @ W.T)[:, None] + np.tanh(keys)) @ v


def scores_without_v(query, keys, W, v):
    return np.tanh((query @ W.T)[:, None] + keys).sum(axis=2)


def scores_by_product(query, keys, W, v):
    return np.einsum("bh,bsh->bs", query @ W.T, keys)


# 2.3 The weights: a softmax over the real positions
def weight_arguments(rng):
    lengths = np.array([S, 3, 2])
    return 2 * rng.normal(size=(B, S)), np.arange(S) < lengths[:, None]


def softmax(scores, axis=1):
    powers = np.exp(scores)
    return powers / powers.sum(axis=axis, keepdims=True)


def attention_weights(scores, mask):
    return softmax(np.where(mask, scores, -np.inf))


def weights_over_sentences(scores, mask):
    return softmax(np.where(mask, scores, -np.inf), axis=0)


def weights_of_padding(scores, mask):
    return softmax(np.where(mask, -np.inf, scores))


def weights_with_zero_scores(scores, mask):
    return softmax(np.where(mask, scores, 0))


def weights_masked_late(scores, mask):
    return softmax(scores) * mask


def weights_not_divided(scores, mask):
    return np.exp(scores) * mask


# 2.4 The context: a weighted sum of the encoder's states
def context_arguments(rng):
    return softmax(2 * rng.normal(size=(B, S))), rng.normal(size=(B, S, M))


def context_vectors(weights, values):
    return np.einsum("bs,bsm->bm", weights, values)


def context_of_the_largest(weights, values):
    return values[np.arange(B), weights.argmax(axis=1)]


# 2.6 The step, with stand-ins for attention and for the GRU
def step_arguments(rng):
    def attend(query):
        return 2 * query[:, 1:] - 1, query[:, :2] + 5

    def gru(inputs, state):
        return state / 2 + inputs[:, :H] * inputs[:, 1:]

    return rng.normal(size=(B, 2)), rng.normal(size=(B, H)), attend, gru


def bahdanau_step(embedded, state, attend, gru):
    context, weights = attend(state)
    return gru(np.concatenate([embedded, context], axis=1), state), context, weights


def step_with_the_new_state(embedded, state, attend, gru):
    new_state = bahdanau_step(embedded, state, attend, gru)[0]
    return new_state, *attend(new_state)


def step_in_the_other_order(embedded, state, attend, gru):
    context, weights = attend(state)
    return gru(np.concatenate([context, embedded], axis=1), state), context, weights


def step_that_keeps_the_state(embedded, state, attend, gru):
    return state, *attend(state)


# 2.8, 2.9 Links, and their error rate
def link_arguments(rng):
    return (softmax(2 * rng.normal(size=(4, 6))),)


def best_links(weights):
    return [(int(s), t) for t, s in enumerate(weights.argmax(axis=1))]


def links_for_each_source_word(weights):
    return [(s, int(t)) for s, t in enumerate(weights.argmax(axis=0))]


def links_with_the_target_first(weights):
    return [(t, s) for s, t in best_links(weights)]


def rate_arguments(rng):
    pairs = [(s, t) for s in range(5) for t in range(5)]
    order = [pairs[i] for i in rng.permutation(len(pairs))]
    first, last = rng.integers(3, 6), rng.integers(12, 16)
    return set(order[:10]), set(order[first : last - 3]), set(order[first:last])  # each has links that others lack


def error_rate(links, sure, possible):
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))


EXERCISES = {
    "2.1": Exercise(
        "additive_scores",
        score_arguments,
        additive_scores,
        {
            "The tanh is missing. Without it the scores are W q · v + k · v, and the query changes no weight.": (
                scores_without_tanh
            ),
            "W is not transposed. A query is a row of `query`: W q for all rows is query @ W.T.": scores_not_transposed,
            "tanh is applied to each term. It belongs around the sum W q + k.": scores_of_two_tanh,
            "v is missing: the H components must be weighted by v, not just added up.": scores_without_v,
            "This is the product of W q and k, Luong's general score. Bahdanau's score adds them, inside a tanh.": (
                scores_by_product
            ),
        },
    ),
    "2.2": Answer(
        "answer_2_2",
        "1b8a36dea3213681",
        {
            "0": "A score of 0 is not a weight of 0: exp(0) is 1.",
            "1": "The three real tokens keep a share of the weight: all six scores are equal.",
            "3": "That is the number of padding tokens. Give their share of the total weight, a number from 0 to 1.",
        },
    ),
    "2.3": Exercise(
        "attention_weights",
        weight_arguments,
        attention_weights,
        {
            "The softmax is over the sentences (dim=0). Each row must sum to 1: take it over the source positions.": (
                weights_over_sentences
            ),
            "The mask is not used: padding gets weight.": lambda scores, mask: softmax(scores),
            "The mask is the wrong way round: it is True at tokens, and padding is ~mask.": weights_of_padding,
            "Padding's scores are set to 0, and exp(0) is 1. Set them to -inf: exp(-inf) is 0.": (
                weights_with_zero_scores
            ),
            "The mask comes after the softmax, so the weights of the tokens sum to less than 1. Mask the scores.": (
                weights_masked_late
            ),
            "exp(scores) must be divided by its sum over the source positions.": weights_not_divided,
        },
    ),
    "2.4": Exercise(
        "context_vectors",
        context_arguments,
        context_vectors,
        {
            "This is the plain mean over the positions: the weights are not used.": lambda w, x: x.mean(axis=1),
            "This is the plain sum over the positions: the weights are not used.": lambda w, x: x.sum(axis=1),
            "The weights sum to 1 already: do not divide by S (use sum, not mean).": (
                lambda w, x: context_vectors(w, x) / S
            ),
            "This is the vector of the largest weight alone. The context is the sum of all, each times its weight.": (
                context_of_the_largest
            ),
            "The weights have been through the softmax already: use them as they are.": (
                lambda w, x: context_vectors(softmax(w), x)
            ),
        },
    ),
    "2.5": Answer(
        "answer_2_5",
        "5acaa03b95caa695",
        {
            "a": "The diagonal has to be learnt: nothing in the equations prefers position t at step t.",
            "c": "One large weight needs one score far above the others. How far apart are scores before training?",
        },
    ),
    "2.6": Exercise(
        "bahdanau_step",
        step_arguments,
        bahdanau_step,
        {
            "Attention is computed with the new state. In Bahdanau's model the query is the previous state.": (
                step_with_the_new_state
            ),
            "The GRU's input is in the other order: first the embedding, then the context.": step_in_the_other_order,
            "The state that is returned is the old one: return what the GRU computes.": step_that_keeps_the_state,
        },
    ),
    "2.7": Answer(
        "answer_2_7",
        "ba0d6e49feacd0dd",
        {
            "1": "Position 1 is the auxiliary verb `hat`. See how light its column is in the row `stood`.",
            "4": "That is the diagonal. Look for the darkest cell of the row.",
            "6": "Count the positions from 0.",
            "8": "Count the positions from 0.",
        },
    ),
    "2.8": Exercise(
        "best_links",
        link_arguments,
        best_links,
        {
            "There is a link for each source word. Take the largest weight of each row: one link per target word.": (
                links_for_each_source_word
            ),
            "Positions are counted from 0.": lambda weights: [(s + 1, t + 1) for s, t in best_links(weights)],
            "A link is (source position, target position): yours are the other way round. (enumerate gives (t, s).)": (
                links_with_the_target_first
            ),
        },
    ),
    "2.9": Exercise(
        "alignment_error_rate",
        rate_arguments,
        error_rate,
        {
            "This is 1 - AER: an error rate is 0 when all links are right.": lambda a, s, p: 1 - error_rate(a, s, p),
            "This is 1 - precision. The sure links that are missing count, too.": (
                lambda a, s, p: 1 - len(a & p) / len(a)
            ),
            "This is 1 - recall. Links that are not even possible count, too.": lambda a, s, p: 1 - len(a & s) / len(s),
            "The denominator is |A| + |S|: only the sure links must be there.": (
                lambda a, s, p: 1 - (len(a & s) + len(a & p)) / (len(a) + len(p))
            ),
            "The numerator is |A ∩ S| + |A ∩ P|: possible links are no errors.": (
                lambda a, s, p: 1 - 2 * len(a & s) / (len(a) + len(s))
            ),
        },
    ),
}
