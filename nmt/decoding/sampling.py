"""Translations drawn at random from a model's own distribution, over the same step closure as beam search.

Shapes: B unfinished sentences, K samples of each (adjacent rows of a step), V vocabulary, T target positions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from nmt.decoding.beam_search import Adjust, Hypothesis, Step, adjusted, length_penalty, select


def sample(
    step: Step,
    state: tuple[Any, ...],
    memory: tuple[Any, ...],
    draws: Float64[Tensor, "B K T"],
    *,
    bos: int,
    eos: int,
    alpha: float,
    temperature: float,
    top_k: int | None,
    top_p: float | None = None,
    adjust: Sequence[Adjust] = (),
    prefix: Int[Tensor, "B P"] | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yields each sentence's index and its K hypotheses, independent of each other, in the order of drawing.

    Token t of a sample is drawn from p^(1/temperature), normalised, over the `top_k` most likely tokens or over all,
    and of those over the nucleus: the fewest likeliest tokens with a total probability of at least `top_p` (Holtzman et
    al. 2020, section 3.1). The random number for it, from 0 to 1, is in `draws`. A hypothesis ends with EOS, or after T
    tokens. Its score is by the model's probabilities, whatever it was drawn from. `step`, `state`, `memory`, `adjust`
    and `prefix` are those of `beam_search`.
    """
    (sentences, count, length), device = draws.shape, draws.device
    indices = torch.arange(sentences, device=device)  # the unfinished sentences, by their index in the input
    state = select(state, indices.repeat_interleave(count))
    written = torch.full((sentences, count, length + 1), eos, device=device)
    written[:, :, 0] = tokens = torch.full((sentences, count), bos, device=device)
    scores = torch.zeros(sentences, count, dtype=torch.float64, device=device)
    for t in range(length):
        rows, state = step(tokens.flatten(), state, memory)
        log_probabilities = rows.unflatten(0, tokens.shape)
        of_draw = log_probabilities.clone() if adjust else log_probabilities
        of_draw = adjusted(of_draw, written[indices, :, : t + 1], indices, prefix, adjust)
        has_ended = tokens == eos
        tokens = _draw(of_draw, draws[indices, :, t], temperature, top_k, top_p)
        gained = log_probabilities.gather(2, tokens.unsqueeze(2)).squeeze(2).double()
        tokens = tokens.masked_fill(has_ended, eos)
        scores[indices] += gained.masked_fill(has_ended, 0)
        written[indices, :, t + 1] = tokens
        keep = (tokens != eos).any(dim=1).nonzero().squeeze(1)
        if len(keep) == 0:
            break
        if len(keep) < len(indices):
            rows = (count * keep.unsqueeze(1) + torch.arange(count, device=device)).flatten()
            state, memory = select(state, rows), select(memory, keep)
            indices, tokens = indices[keep], tokens[keep]
    for sentence, samples in enumerate(zip(written[:, :, 1:].tolist(), scores.tolist(), strict=True)):
        ended = [(ids[: [*ids, eos].index(eos) + 1], score) for ids, score in zip(*samples, strict=True)]
        yield sentence, [Hypothesis(tuple(ids), score / length_penalty(len(ids), alpha)) for ids, score in ended]


def _draw(
    log_probabilities: Float[Tensor, "B K V"],
    draws: Float64[Tensor, "B K"],
    temperature: float,
    top_k: int | None,
    top_p: float | None,
) -> Int[Tensor, "B K"]:
    """The token of each row in whose part of the cumulative distribution its draw falls."""
    likely, tokens = log_probabilities, None
    if top_k is not None and top_k < log_probabilities.shape[2]:
        likely, tokens = log_probabilities.topk(top_k, dim=2)
    below = likely.double() - likely.double().amax(dim=2, keepdim=True)  # a tiny temperature must not make all −∞
    probabilities = (below / temperature).softmax(dim=2)
    if top_p is not None:
        ordered, order = probabilities.sort(dim=2, descending=True)
        is_behind = ordered.cumsum(dim=2) - ordered >= top_p  # the likelier ones are the nucleus
        probabilities = probabilities.masked_fill(is_behind.gather(2, order.argsort(dim=2)), 0)
    sums = probabilities.cumsum(dim=2)
    # A draw is at most 1 − 2⁻³², so that rounding never leads past the last token with a probability.
    indices = torch.searchsorted(sums, (draws * sums[:, :, -1]).unsqueeze(2), right=True)
    return (indices if tokens is None else tokens.gather(2, indices)).squeeze(2)


def uniform_draws(sources: Sequence[Sequence[int]], count: int, length: int, seed: int) -> Float64[Tensor, "B K T"]:
    """Numbers from 0 to 1 − 2⁻³², which a sentence's ids and the seed decide, whatever the batch and the process."""
    draws = []
    for source in sources:
        content = np.array([seed, *source], dtype="<i8").tobytes()
        key = int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "little")
        # Philox by itself: NumPy may change what its Generator makes of the bits, but not the bits.
        draws.append((np.random.Philox(key=key).random_raw(count * length) >> np.uint64(32)) / 2.0**32)
    return torch.from_numpy(np.stack(draws)).unflatten(1, (count, length))
