"""What the checks of lesson 7 are made of: references in NumPy, frequent mistakes, and their hints."""

import numpy as np
from numpy.typing import NDArray

from nmt.course.checking import Answer, Exercise

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Links = set[tuple[int, int]]


# 7.1 Precision, recall, AER ------------------------------------------------------------------------------------------
def scores_arguments(rng: np.random.Generator) -> tuple[Links, Links, Links]:
    """Some sure links and some possible ones are among the links, and others are not."""
    cells = [(int(i) // 6, int(i) % 6) for i in rng.permutation(36)]
    return set(cells[:6] + cells[9:12] + cells[20:22]), set(cells[:9]), set(cells[:14])


def link_scores(links: Links, sure: Links, possible: Links) -> list[float]:
    in_sure, in_possible = len(links & sure), len(links & possible)
    rate = 1 - (in_sure + in_possible) / (len(links) + len(sure))
    return [in_possible / len(links), in_sure / len(sure), rate]


def scores_of_sure_links(links: Links, sure: Links, possible: Links) -> list[float]:
    return link_scores(links, sure, sure)


def scores_of_possible_links(links: Links, sure: Links, possible: Links) -> list[float]:
    return link_scores(links, possible, possible)


def scores_in_other_order(links: Links, sure: Links, possible: Links) -> list[float]:
    precision, recall, rate = link_scores(links, sure, possible)
    return [recall, precision, rate]


def scores_not_from_one(links: Links, sure: Links, possible: Links) -> list[float]:
    precision, recall, rate = link_scores(links, sure, possible)
    return [precision, recall, 1 - rate]


# 7.2 The E step of a pair --------------------------------------------------------------------------------------------
def pair_arguments(rng: np.random.Generator) -> tuple[Array, Indices, Indices]:
    return rng.dirichlet(np.ones(7), size=7), rng.integers(0, 7, size=4), rng.integers(0, 7, size=5)


def link_probabilities(table: Array, source: Indices, target: Indices) -> Array:
    p = table[source[None, :], target[:, None]]
    return p / p.sum(axis=1, keepdims=True)


def probabilities_of_columns(table: Array, source: Indices, target: Indices) -> Array:
    p = table[source[None, :], target[:, None]]
    return p / p.sum(axis=0, keepdims=True)


def probabilities_transposed(table: Array, source: Indices, target: Indices) -> Array:
    return link_probabilities(table, source, target).T


def not_normalised(table: Array, source: Indices, target: Indices) -> Array:
    return table[source[None, :], target[:, None]]


def table_transposed(table: Array, source: Indices, target: Indices) -> Array:
    return link_probabilities(table.T, source, target)


# 7.3 An iteration of EM ----------------------------------------------------------------------------------------------
Pairs = list[tuple[Indices, Indices]]


def em_arguments(rng: np.random.Generator) -> tuple[Array, Pairs]:
    """In each pair a source and a target word come twice; the last source word is in no pair."""
    pairs = []
    for _ in range(3):
        source, target = rng.integers(0, 4, size=4), rng.integers(0, 5, size=5)
        pairs.append((np.append(source, source[0]), np.append(target, target[0])))
    return rng.dirichlet(np.ones(5), size=5), pairs


def expected_counts(table: Array, pairs: Pairs) -> Array:
    counts = np.zeros_like(table)
    for source, target in pairs:
        np.add.at(counts, (source[None, :], target[:, None]), link_probabilities(table, source, target))
    return counts


def normalised(counts: Array, axis: int = 1) -> Array:
    return counts / np.maximum(counts.sum(axis=axis, keepdims=True), 1e-300)


def em_iteration(table: Array, pairs: Pairs) -> Array:
    return normalised(expected_counts(table, pairs))


def em_over_source_words(table: Array, pairs: Pairs) -> Array:
    return normalised(expected_counts(table, pairs), axis=0)


def em_added_once(table: Array, pairs: Pairs) -> Array:
    counts = np.zeros_like(table)
    for source, target in pairs:
        counts[source[None, :], target[:, None]] += link_probabilities(table, source, target)
    return normalised(counts)


def em_of_best_links(table: Array, pairs: Pairs) -> Array:
    counts = np.zeros_like(table)
    for source, target in pairs:
        np.add.at(counts, (source[link_probabilities(table, source, target).argmax(axis=1)], target), 1)
    return normalised(counts)


def em_without_probabilities(table: Array, pairs: Pairs) -> Array:
    return em_iteration(np.ones_like(table), pairs)


# 7.4 Links from attention --------------------------------------------------------------------------------------------
def weights_arguments(rng: np.random.Generator) -> tuple[Array]:
    """In one row </s> has the largest weight."""
    weights = rng.dirichlet(np.ones(6), size=8)
    weights[2, -1] = 1
    return (weights,)


def attention_links(weights: Array) -> Indices:
    return weights[:-1, :-1].argmax(axis=1)


def links_of_next_step(weights: Array) -> Indices:
    return weights[1:, :-1].argmax(axis=1)


def links_of_source(weights: Array) -> Indices:
    return weights[:-1, :-1].argmax(axis=0)


def links_to_end(weights: Array) -> Indices:
    return weights[:-1].argmax(axis=1)


def links_of_end(weights: Array) -> Indices:
    return weights[:, :-1].argmax(axis=1)


# 7.6 Guided alignment ------------------------------------------------------------------------------------------------
def guided_arguments(rng: np.random.Generator) -> tuple[Array, Array]:
    """Padding in the second pair, a row with two links, and rows without any."""
    weights = rng.dirichlet(np.ones(5), size=(2, 4))
    weights[1, :, 3:] = 0
    weights[1] /= weights[1].sum(axis=1, keepdims=True)
    links = np.zeros((2, 4, 5))
    links[0, 0, 2] = links[0, 3, 4] = links[1, 1, 0] = 1
    links[0, 1, 0] = links[0, 1, 3] = 0.5
    return weights, links


def cross_entropy(weights: Array, links: Array) -> float:
    return float(-(links * np.log(np.where(links > 0, weights, 1))).sum())


def guided_loss(weights: Array, links: Array) -> float:
    return cross_entropy(weights, links) / float((links.sum(axis=2) > 0).sum())


def guided_over_all_rows(weights: Array, links: Array) -> float:
    return cross_entropy(weights, links) / (links.shape[0] * links.shape[1])


def guided_over_all_weights(weights: Array, links: Array) -> float:
    return cross_entropy(weights, links) / links.size


def guided_positive(weights: Array, links: Array) -> float:
    return -guided_loss(weights, links)


def guided_nan(weights: Array, links: Array) -> float:
    return float(-(links * np.log(weights)).sum() / (links.sum(axis=2) > 0).sum())


def guided_without_logarithm(weights: Array, links: Array) -> float:
    return float(-(links * weights).sum() / (links.sum(axis=2) > 0).sum())


# 7.7 Tags put back ---------------------------------------------------------------------------------------------------
Span = tuple[list[tuple[int, int]], int, int]


def span_arguments(rng: np.random.Generator) -> Span:
    """Of the first three seeds, one has a span of a single word without a link."""
    first, size = ((3, 3), (0, 2), (1, 5))[int(rng.integers(3))]
    order = rng.permutation(9)
    links = [(s, int(order[s])) for s in (0, 1, 2, 4, 5, 6, 7)] + [(2, int(order[8])), (6, int(order[3]))]
    return [links[i] for i in rng.permutation(len(links))], first, first + size - 1


def target_span(links: list[tuple[int, int]], first: int, last: int) -> list[int]:
    positions = [t for s, t in links if first <= s <= last]
    return [min(positions), max(positions)] if positions else []


def span_without_last(links: list[tuple[int, int]], first: int, last: int) -> list[int]:
    return target_span(links, first, last - 1)


def span_of_ends(links: list[tuple[int, int]], first: int, last: int) -> list[int]:
    return target_span([link for link in links if link[0] in (first, last)], first, last)


def span_in_order(links: list[tuple[int, int]], first: int, last: int) -> list[int]:
    positions = [t for s, t in links if first <= s <= last]
    return [positions[0], positions[-1]] if positions else []


def span_reversed(links: list[tuple[int, int]], first: int, last: int) -> list[int]:
    return target_span([(t, s) for s, t in links], first, last)


EXERCISES = {
    "7.1": Exercise(
        "link_scores",
        scores_arguments,
        link_scores,
        {
            "Precision is about possible links: a link in P is not wrong.": scores_of_sure_links,
            "Recall is about sure links: a link that is only possible may be missing.": scores_of_possible_links,
            "The order is precision, recall, AER.": scores_in_other_order,
            "AER is an error rate: one minus the quotient.": scores_not_from_one,
        },
    ),
    "7.2": Exercise(
        "link_probabilities",
        pair_arguments,
        link_probabilities,
        {
            "The sum goes over the source words: each target word's row sums to 1.": probabilities_of_columns,
            "A row per target word, a column per source word: this is transposed.": probabilities_transposed,
            "These are p(t | s): divide each row by its sum.": not_normalised,
            "The table has a row per source word: table[source, target].": table_transposed,
        },
    ),
    "7.3": Exercise(
        "em_iteration",
        em_arguments,
        em_iteration,
        {
            "p(t | s) sums to 1 over the target words: divide each row of the counts.": em_over_source_words,
            "Words that come twice in a sentence count only once here: use np.add.at.": em_added_once,
            "Add the probability of each link; do not count the best links alone.": em_of_best_links,
            "All links are equally likely here: compute q with the table.": em_without_probabilities,
        },
    ),
    "7.4": Exercise(
        "attention_links",
        weights_arguments,
        attention_links,
        {
            "Row t predicts word t. These rows are one step late.": links_of_next_step,
            "This is the best target word of each source word: argmax over the columns, dim=1.": links_of_source,
            "The last column is </s>: no word may be linked to it.": links_to_end,
            "The last row predicts </s>: it has no link.": links_of_end,
        },
    ),
    "7.5": Answer(
        "answer_7_5",
        digest="23a599d650db5bdc",
        hints={
            "a": "The step that reads word t predicts word t + 1. Which source word does it need?",
            "c": "So one might expect, and in transformers it is so. But this query is used to predict the next word.",
        },
    ),
    "7.6": Exercise(
        "guided_loss",
        guided_arguments,
        guided_loss,
        {
            "N is the number of rows that have a link; rows without one do not count.": guided_over_all_rows,
            "N counts rows with links, not all weights.": guided_over_all_weights,
            "This is negative: the minus sign is missing.": guided_positive,
            "0 · log 0 is NaN: replace the weights by 1 where there is no link.": guided_nan,
            "The logarithm of the weights is missing.": guided_without_logarithm,
        },
    ),
    "7.7": Exercise(
        "target_span",
        span_arguments,
        target_span,
        {
            "The last word belongs to the span, too.": span_without_last,
            "Words between the first and the last one have links, too.": span_of_ends,
            "The order of the links says nothing: take the smallest and the largest position.": span_in_order,
            "A link is (source, target): the span is of source words.": span_reversed,
        },
    ),
}
