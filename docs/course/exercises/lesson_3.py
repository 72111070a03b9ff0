"""What the checks of lesson 3 are made of: references in NumPy, mistakes that are often made, and their hints."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.course.checking import Answer, Exercise

Array = NDArray[np.float64]
Attend = Callable[[Any], tuple[Any, Any]]


def softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# 3.2 The attentional vector ------------------------------------------------------------------------------------------
def vector_arguments(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    return rng.normal(size=(3, 6)), rng.normal(size=(3, 4)), rng.normal(size=(5, 10)) / 3


def attentional_vector(context: Array, hidden: Array, w_c: Array) -> Array:
    return np.tanh(np.concatenate([context, hidden], axis=1) @ w_c.T)


def vector_of_swapped(context: Array, hidden: Array, w_c: Array) -> Array:
    return np.tanh(np.concatenate([hidden, context], axis=1) @ w_c.T)


def vector_without_tanh(context: Array, hidden: Array, w_c: Array) -> Array:
    return np.concatenate([context, hidden], axis=1) @ w_c.T


def vector_of_context(context: Array, hidden: Array, w_c: Array) -> Array:
    return np.tanh(context @ w_c[:, : context.shape[1]].T)


def vector_with_sigmoid(context: Array, hidden: Array, w_c: Array) -> Array:
    return 1 / (1 + np.exp(-vector_without_tanh(context, hidden, w_c)))


# 3.3 The step --------------------------------------------------------------------------------------------------------
def on_arrays(function: Callable[[Array], Any]) -> Callable[..., Any]:
    """A function of arrays that takes tensors, too, and then returns tensors."""

    def both(*values: Any) -> Any:
        if not isinstance(values[0], torch.Tensor):
            return function(*values)
        result = function(*(value.detach().numpy() for value in values))
        return tuple(map(torch.from_numpy, result)) if isinstance(result, tuple) else torch.from_numpy(result)

    return both


def step_arguments(rng: np.random.Generator) -> tuple[Array, Array, Array, Callable[..., Any], Attend, Array]:
    """N 3, E 5, H and R 4, S 6. The RNN also takes an input that is too narrow, so that feeding may be forgotten."""
    w_input, w_hidden, values = rng.normal(size=(9, 4)), rng.normal(size=(4, 4)), rng.normal(size=(3, 6, 4))

    @on_arrays
    def rnn(inputs: Array, state: Array) -> Array:
        return np.tanh(inputs @ w_input[: inputs.shape[1]] + state @ w_hidden)

    @on_arrays
    def attend(query: Array) -> tuple[Array, Array]:
        weights = softmax(np.einsum("nh,nsh->ns", query, values))
        return np.einsum("ns,nsh->nh", weights, values), weights

    embedded, hidden, readout = rng.normal(size=(3, 5)), rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    return embedded, hidden, readout, rnn, attend, rng.normal(size=(4, 8)) / 3


def luong_step(embedded: Array, hidden: Array, readout: Array, rnn: Any, attend: Attend, w_c: Array) -> Any:
    hidden = rnn(np.concatenate([embedded, readout], axis=1), hidden)
    context, weights = attend(hidden)
    return hidden, attentional_vector(context, hidden, w_c), weights


def step_with_old_query(embedded: Array, hidden: Array, readout: Array, rnn: Any, attend: Attend, w_c: Array) -> Any:
    context, weights = attend(hidden)
    hidden = rnn(np.concatenate([embedded, readout], axis=1), hidden)
    return hidden, attentional_vector(context, hidden, w_c), weights


def step_without_feeding(embedded: Array, hidden: Array, readout: Array, rnn: Any, attend: Attend, w_c: Array) -> Any:
    hidden = rnn(embedded, hidden)
    context, weights = attend(hidden)
    return hidden, attentional_vector(context, hidden, w_c), weights


def step_from_readout(embedded: Array, hidden: Array, readout: Array, rnn: Any, attend: Attend, w_c: Array) -> Any:
    hidden = rnn(np.concatenate([embedded, readout], axis=1), readout)
    context, weights = attend(hidden)
    return hidden, attentional_vector(context, hidden, w_c), weights


def step_to_readout(embedded: Array, hidden: Array, readout: Array, rnn: Any, attend: Attend, w_c: Array) -> Any:
    _, new_readout, weights = luong_step(embedded, hidden, readout, rnn, attend, w_c)
    return new_readout, new_readout, weights


def step_of_old_state(embedded: Array, hidden: Array, readout: Array, rnn: Any, attend: Attend, w_c: Array) -> Any:
    new_hidden = rnn(np.concatenate([embedded, readout], axis=1), hidden)
    context, weights = attend(new_hidden)
    return new_hidden, attentional_vector(context, hidden, w_c), weights


def step_with_swapped_input(
    embedded: Array, hidden: Array, readout: Array, rnn: Any, attend: Attend, w_c: Array
) -> Any:
    hidden = rnn(np.concatenate([readout, embedded], axis=1), hidden)
    context, weights = attend(hidden)
    return hidden, attentional_vector(context, hidden, w_c), weights


# 3.5 to 3.8 Scores ---------------------------------------------------------------------------------------------------
def dot_arguments(rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4))


def dot_scores(query: Array, keys: Array) -> Array:
    return np.einsum("bth,bsh->bts", query, keys)


def general_arguments(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """H and M are equal, so that a transposed W_a raises nothing."""
    return rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(4, 4))


def general_scores(query: Array, values: Array, w_a: Array) -> Array:
    return np.einsum("bth,hm,bsm->bts", query, w_a, values)


def concat_arguments(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    return rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 6)), rng.normal(size=(7, 10)) / 3, rng.normal(size=7)


def joined(query: Array, values: Array) -> Array:
    """[h; v_s] of each query and position, (B T S H+M)."""
    (b, t, h), (_, s, m) = query.shape, values.shape
    left = np.broadcast_to(query[:, :, None], (b, t, s, h))
    return np.concatenate([left, np.broadcast_to(values[:, None], (b, t, s, m))], axis=3)


def concat_scores(query: Array, values: Array, w_a: Array, v_a: Array) -> Array:
    return np.tanh(joined(query, values) @ w_a.T) @ v_a


def concat_swapped(query: Array, values: Array, w_a: Array, v_a: Array) -> Array:
    size = query.shape[2]
    swapped = np.concatenate([joined(query, values)[..., size:], joined(query, values)[..., :size]], axis=3)
    return np.tanh(swapped @ w_a.T) @ v_a


def additive_arguments(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, Array]:
    query, values, w_a, v_a = concat_arguments(rng)
    return query, values, w_a[:, :4], w_a[:, 4:], v_a


def additive_scores(query: Array, values: Array, w_a: Array, u_a: Array, v_a: Array) -> Array:
    return np.tanh((query @ w_a.T)[:, :, None] + (values @ u_a.T)[:, None]) @ v_a


# 3.10 Entropy --------------------------------------------------------------------------------------------------------
def entropy_arguments(rng: np.random.Generator) -> tuple[Array]:
    """Some weights are exactly 0, as those of padding are."""
    weights = softmax(rng.normal(size=(3, 4, 6)))
    weights[:, :, 4:] = 0
    return (weights / weights.sum(axis=2, keepdims=True),)


def entropy(weights: Array) -> Array:
    return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1)


def entropy_of_zeros(weights: Array) -> Array:
    with np.errstate(all="ignore"):
        return -(weights * np.log(weights)).sum(axis=-1)


EXERCISES = {
    "3.1": Answer(
        "answer_3_1",
        digest="88faa9cea499a897",
        hints={
            "a": "In Bahdanau's wiring the query is the state before y_{t−1} is read. What is c_t computed from?",
            "c": "One of the two queries is computed before y_{t−1} is read, the other after.",
        },
    ),
    "3.2": Exercise(
        "attentional_vector",
        vector_arguments,
        attentional_vector,
        {
            "The context comes first: [c_t; h_t]. In W_c the columns of the context are the first.": vector_of_swapped,
            "Equation 5 has a tanh around the product.": vector_without_tanh,
            "The new state is missing: join context and hidden to one vector.": vector_of_context,
            "This is a sigmoid; equation 5 has tanh.": vector_with_sigmoid,
        },
    ),
    "3.3": Exercise(
        "luong_step",
        step_arguments,
        luong_step,
        {
            "The query is the previous state: this is Bahdanau's query. Run the RNN first.": step_with_old_query,
            "There is no input feeding: the RNN reads [E y_{t−1}; h̃_{t−1}].": step_without_feeding,
            "h̃_{t−1} is an input of the RNN, and not its state: the state is hidden.": step_from_readout,
            "The first result is the RNN's state h_t, and not h̃_t.": step_to_readout,
            "h̃_t is computed from the new state h_t; here it is from the one before.": step_of_old_state,
            "The embedding comes first in the RNN's input: [E y_{t−1}; h̃_{t−1}].": step_with_swapped_input,
        },
    ),
    "3.4": Answer(
        "answer_3_4",
        digest="f10062dbbbe44c8e",
        hints={
            "a": "Which inputs does the RNN have if h̃_{t−1} is not one of them?",
            "b": "c_t is computed from h_t. Does h_t depend on c_{t−1} without input feeding?",
            "d": "Write down all the inputs of h_t, and of h̃_t.",
        },
    ),
    "3.5": Exercise(
        "dot_scores",
        dot_arguments,
        dot_scores,
        {
            "The result is (B S T), and should be (B T S): one row for each query.": lambda query, keys: np.einsum(
                "bth,bsh->bst", query, keys
            ),
            "These are weights. A score comes before the softmax.": lambda query, keys: softmax(
                dot_scores(query, keys)
            ),
            "No scale yet: the score dot is the plain product.": lambda query, keys: (
                dot_scores(query, keys) / np.sqrt(query.shape[2])
            ),
            "The products are there, but not their sum over H.": lambda query, keys: query[:, :, None] * keys[:, None],
        },
    ),
    "3.6": Exercise(
        "general_scores",
        general_arguments,
        general_scores,
        {
            "W_a is transposed: row i of W_a belongs to element i of the query.": lambda query, values, w_a: (
                general_scores(query, values, w_a.T)
            ),
            "W_a is not used: this is the score dot.": lambda query, values, w_a: dot_scores(query, values),
            "There is no tanh in general: hᵀ W_a v_s.": lambda query, values, w_a: np.einsum(
                "bth,bsh->bts", query, np.tanh(values @ w_a.T)
            ),
            "No scale yet: general is hᵀ W_a v_s alone.": lambda query, values, w_a: (
                general_scores(query, values, w_a) / np.sqrt(query.shape[2])
            ),
        },
    ),
    "3.7": Exercise(
        "concat_scores",
        concat_arguments,
        concat_scores,
        {
            "The query comes first: [h; v_s].": concat_swapped,
            "Without tanh the softmax over s does not depend on the query: this is no attention.": (
                lambda query, values, w_a, v_a: joined(query, values) @ w_a.T @ v_a
            ),
            "The tanh belongs inside, before the product with v_a.": lambda query, values, w_a, v_a: np.tanh(
                joined(query, values) @ w_a.T @ v_a
            ),
            "v_a is missing: the elements of the tanh are summed with weights v_a.": lambda query, values, w_a, v_a: (
                np.tanh(joined(query, values) @ w_a.T).sum(axis=3)
            ),
        },
    ),
    "3.8": Exercise(
        "additive_scores",
        additive_arguments,
        additive_scores,
        {
            "The two products are added inside the tanh, and not multiplied.": lambda query, values, w_a, u_a, v_a: (
                np.tanh((query @ w_a.T)[:, :, None] * (values @ u_a.T)[:, None]) @ v_a
            ),
            "The query's term W_a h is missing.": lambda query, values, w_a, u_a, v_a: (np.tanh(values @ u_a.T) @ v_a)[
                :, None
            ].repeat(query.shape[1], axis=1),
            "One tanh of the sum, and not a sum of two: tanh(a) + tanh(b) is not tanh(a + b).": (
                lambda query, values, w_a, u_a, v_a: (
                    (np.tanh(query @ w_a.T)[:, :, None] + np.tanh(values @ u_a.T)[:, None]) @ v_a
                )
            ),
            "The tanh is missing.": lambda query, values, w_a, u_a, v_a: (
                ((query @ w_a.T)[:, :, None] + (values @ u_a.T)[:, None]) @ v_a
            ),
        },
    ),
    "3.9": Answer(
        "answer_3_9",
        digest="a5d1c945d4b63fcf",
        hints={
            "64": "64 is the variance. The standard deviation is its root.",
            "1": "Each of the 64 products has variance 1, and the sum has the sum of the variances.",
            "32": "The variances of independent terms are added: 64 times 1. Then take the root.",
            "4096": "Variances are added, not multiplied: 64 times 1. Then take the root.",
        },
    ),
    "3.10": Exercise(
        "entropy",
        entropy_arguments,
        entropy,
        {
            "0 · log 0 is NaN in floating point. Here it counts as 0, its limit.": entropy_of_zeros,
            "The sign: a logarithm of a weight is negative, and an entropy is not.": lambda weights: -entropy(weights),
            "This is in bits. Take the natural logarithm.": lambda weights: entropy(weights) / np.log(2),
            "Sum over the positions; this is their mean.": lambda weights: entropy(weights) / weights.shape[-1],
            "One entropy for each query: sum over the last dimension alone.": lambda weights: entropy(weights).sum(),
        },
    ),
    "3.11": Answer(
        "answer_3_11",
        digest="1b0ed4550144df2e",
        hints={
            "a": "That is where it begins. Adam's steps have the size of the learning rate, even for small gradients.",
            "c": "It is faster: the same change of the parameters changes a score √96 times as much as with the scale.",
        },
    ),
    "3.12": Answer(
        "answer_3_12",
        digest="9625a00d6bfc3b6d",
        hints={
            "a": "Subtract the rows: the shortest sentences lose least.",
            "c": "Subtract the rows, group by group: the differences are not the same.",
        },
    ),
}
