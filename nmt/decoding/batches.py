"""Ids in, hypotheses and attention weights out: how sources become batches and go through a model. Knows no text.

Shapes: B sentences of a batch, N hypotheses of a batch, T target ids, S source ids and the end of the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt import acceleration
from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate, pad_source
from nmt.data.shortlist import Shortlist
from nmt.decoding.beam_search import Candidates, Hypothesis, Step, beam_search, select, with_forced_prefix
from nmt.decoding.model import TranslationModel
from nmt.decoding.sampling import sample, uniform_draws
from nmt.system.denormals import flush_denormals
from nmt.system.device import report_out_of_memory
from nmt.system.process_pool import can_fork, map_in_processes
from nmt.text.vocabulary import BOS, EOS, PAD

Item = TypeVar("Item")


class Decoded(NamedTuple):
    """A hypothesis, and the attention weights with which it was written, if they were asked for."""

    hypothesis: Hypothesis
    attention: Float[Tensor, "T S"] | None


def decode(
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    search: SearchConfig,
    *,
    shortlist: Shortlist | None = None,
    n_best: int = 1,
    attention: bool = True,
    prefixes: Sequence[Sequence[int]] = (),
    watch: Callable[[Candidates], None] | None = None,
) -> Iterator[tuple[int, list[Decoded]]]:
    """Search with beams: yields the index of each source in `sources`, and its `n_best` hypotheses, best first.

    With `search.sampling` the hypotheses are drawn at random, and come in the order of drawing.

    Sources are ids without the end of the sentence; empty ones are left out. Those of similar length share a batch of
    `search.batch_size`, the longest first. A source is yielded as soon as its search ends; with `attention`, or if
    worker processes search, at the end of its batch. With a `shortlist` a translation has only tokens that it lists for
    its sentence. `attention` is for models that have it, and costs one more run of the decoder over the finished
    hypotheses. `prefixes`, if there are any, are the ids that each source's hypotheses begin with. `watch` is called
    with what each step of a beam search chose from.

    Raises `UserError` if a batch does not fit into memory.
    """
    flush_denormals()
    order = [i for i in longest_first(sources) if sources[i]]
    batches = [order[begin : begin + search.batch_size] for begin in range(0, len(order), search.batch_size)]
    hypotheses = search.beam_size if search.sampling is None else n_best

    def decoded(number: int) -> Iterator[tuple[int, list[Decoded]]]:
        indices = batches[number]
        batch, forced = [sources[i] for i in indices], [prefixes[i] for i in indices] if prefixes else []
        out_of_memory = partial(_out_of_memory, len(batch), len(batch[0]), search, hypotheses)
        results = _decode_batch(model, batch, forced, search, shortlist, n_best, attention, watch)
        for row, ranked in _computed(results, partial(_searching, model, out_of_memory)):
            yield indices[row], ranked

    # Threads that share each operation wait for each other thousands of times a second; processes of one thread do not.
    processes = torch.get_num_threads() if watch is None and model.device.type == "cpu" and can_fork() else 1
    if 1 < processes <= len(order) // search.batch_size:
        jobs = ((number,) for number in range(len(batches)))
        yield from chain.from_iterable(
            map_in_processes(lambda number: list(decoded(number)), jobs, processes, fork=True)
        )
    else:
        yield from chain.from_iterable(map(decoded, range(len(batches))))


def forced_weights(
    model: TranslationModel, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_size: int
) -> list[Float[Tensor, "T S"]]:
    """The attention weights while the model reads the given targets, ids without marks: one matrix per pair, in order.

    Teacher forcing: T are a target's ids and the end of the sentence, and row t is the attention of the step that
    predicts id t, which has read only those before it.
    """
    order = sorted(range(len(sources)), key=lambda i: (-len(sources[i]), -len(targets[i])))
    matrices: dict[int, Tensor] = {}
    with without_dropout(model), torch.inference_mode():
        for begin in range(0, len(order), batch_size):
            chosen = order[begin : begin + batch_size]
            padded, lengths = pad_source([sources[i] for i in chosen])
            state, memory = model.encode(padded.to(model.device), lengths)
            ids = [[*targets[i], EOS] for i in chosen]
            matrices |= zip(chosen, _weights(model, ids, lengths.tolist(), state, memory), strict=True)
    return [matrices[i] for i in range(len(sources))]


def longest_first(sources: Sequence[Sequence[int]]) -> list[int]:
    """The order in which sources are decoded: a batch too large for the memory fails at once, not at the end."""
    return sorted(range(len(sources)), key=lambda i: -len(sources[i]))


@contextmanager
def _searching(model: TranslationModel, out_of_memory: Callable[[], str]) -> Iterator[None]:
    with torch.inference_mode(), without_dropout(model), report_out_of_memory(out_of_memory):
        yield


def _computed(items: Iterator[Item], context: Callable[[], AbstractContextManager[None]]) -> Iterator[Item]:
    """What an iterator computes, in a context that ends before each item is handed on."""
    while True:
        with context():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def _decode_batch(
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]],
    search: SearchConfig,
    shortlist: Shortlist | None,
    n_best: int,
    attention: bool,
    watch: Callable[[Candidates], None] | None,
) -> Iterator[tuple[int, list[Decoded]]]:
    padded, lengths = pad_source(sources)
    if shortlist is not None:
        model = acceleration.restrict_to_shortlist(model, shortlist, padded)
    state, memory = model.encode(padded.to(model.device), lengths)
    find = _search_function(search, sources, n_best, model.device, watch)
    if prefixes:
        results = find(*_with_prefixes(model, prefixes, state, memory))
    else:
        results = find(partial(_step, model), state, memory)
    if not attention:
        for row, hypotheses in results:
            yield row, [Decoded(hypothesis, None) for hypothesis in hypotheses]
        return
    # The decoder runs over all hypotheses of the batch once more, now that it is known which ones are kept.
    kept = list(results)
    row_of = [row for row, hypotheses in kept for _ in hypotheses]
    rows = torch.tensor(row_of, device=model.device)
    ids = [hypothesis.ids for _, hypotheses in kept for hypothesis in hypotheses]
    source_lengths = [len(sources[row]) + 1 for row in row_of]
    weights = iter(_weights(model, ids, source_lengths, select(state, rows), select(memory, rows)))
    for row, hypotheses in kept:
        yield row, [Decoded(hypothesis, next(weights)) for hypothesis in hypotheses]


def _search_function(
    search: SearchConfig,
    sources: Sequence[Sequence[int]],
    n_best: int,
    device: torch.device,
    watch: Callable[[Candidates], None] | None,
) -> Callable[[Step, Any, Any], Iterator[tuple[int, list[Hypothesis]]]]:
    """What finds hypotheses by a step, from a state and a memory: beam search, or sampling."""
    common: dict[str, Any] = {"bos": BOS, "eos": EOS, "alpha": search.length_penalty}
    if search.sampling is not None:
        options = search.sampling
        draws = uniform_draws(sources, n_best, search.max_length, options.seed).to(device)
        return partial(sample, draws=draws, temperature=options.temperature, top_k=options.top_k, **common)
    limits: dict[str, Any] = {"beam_size": search.beam_size, "max_length": search.max_length, "n_best": n_best}
    return partial(beam_search, watch=watch, **limits, **common)


def _step(
    model: TranslationModel, tokens: Int[Tensor, " N"], state: Any, memory: Any
) -> tuple[Float[Tensor, "N V"], Any]:
    log_probabilities, state = model.step(tokens, state, memory)
    log_probabilities[:, PAD] = log_probabilities[:, BOS] = -torch.inf  # no target has them
    return log_probabilities, state


def _with_prefixes(
    model: TranslationModel, prefixes: Sequence[Sequence[int]], state: Any, memory: Any
) -> tuple[Step, tuple[Any, Int[Tensor, " B"]], tuple[Any, Int[Tensor, "B P"]]]:
    """The step, state and memory of a search for hypotheses that begin with given ids."""
    longest = max(map(len, prefixes))
    padded = [[*ids, *[PAD] * (longest - len(ids))] for ids in prefixes]
    ids = torch.tensor(padded, dtype=torch.long, device=model.device).view(len(prefixes), longest)
    steps = torch.zeros(len(prefixes), dtype=torch.long, device=model.device)
    return with_forced_prefix(partial(_step, model), PAD), (state, steps), (memory, ids)


def _weights(
    model: TranslationModel, targets: Sequence[Sequence[int]], source_lengths: Sequence[int], state: Any, memory: Any
) -> list[Float[Tensor, "T S"]]:
    """The weights of each row while its target ids are written, cut to its own lengths. The last id is never read."""
    inputs = collate([Example([], list(ids[:-1])) for ids in targets]).target_input.to(model.device)
    weights = model.attention_weights(inputs, state, memory)
    weights = weights.to("cpu", torch.promote_types(weights.dtype, torch.float32))  # autocast gives bfloat16
    return [
        weights[row, : len(ids), :length] for row, (ids, length) in enumerate(zip(targets, source_lengths, strict=True))
    ]


@contextmanager
def without_dropout(model: TranslationModel) -> Iterator[None]:
    """The model in evaluation mode, and afterwards in the mode that it was in."""
    if not model.training:  # then entering this for each sentence costs nothing
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()


def _out_of_memory(sentences: int, length: int, search: SearchConfig, hypotheses: int) -> str:
    fewer = "the beam size" if search.sampling is None else "n_best"
    return (
        f"out of memory for {sentences} sentences of up to {length} tokens with {hypotheses} hypotheses each: "
        f"lower the batch size (here: {search.batch_size}) or {fewer}"
    )
