"""Ids in, hypotheses and attention weights out: how sources become batches and go through a model. Knows no text.

Shapes: B sentences of a batch, N hypotheses of a batch, T target ids, S source ids and the end of the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate, pad_source
from nmt.decoding.beam_search import Candidates, Hypothesis, Step, beam_search, beginning, select
from nmt.decoding.sampling import sample, uniform_draws
from nmt.kernels.precision import autocast, products_in
from nmt.model.laid_out import LaidOut
from nmt.model.protocol import Choice, TranslationModel
from nmt.selection.lexical import Selection, candidates
from nmt.system.denormals import flush_denormals
from nmt.system.device import report_out_of_memory
from nmt.system.process_pool import can_fork, map_in_processes
from nmt.text.vocabulary import BOS, EOS, PAD

Found = TypeVar("Found")


class Decoded(NamedTuple):
    """A hypothesis, and the attention weights with which it was written, if they were asked for."""

    hypothesis: Hypothesis
    attention: Float[Tensor, "T S"] | None


def decode(
    laid_out: LaidOut,
    sources: Sequence[Sequence[int]],
    search: SearchConfig,
    *,
    selection: Selection | None = None,
    n_best: int = 1,
    attention: bool = True,
    prefixes: Sequence[Sequence[int]] = (),
    watch: Callable[[Candidates], None] | None = None,
) -> Iterator[tuple[int, list[Decoded]]]:
    """Search with beams: yields the place of each source in `sources`, and its `n_best` hypotheses, best first.

    With `search.sampling` the hypotheses are drawn at random, and come in the order of drawing.

    Sources are ids without the end of the sentence; empty ones are left out. Those of similar length share a batch of
    `search.batch_size`, the longest first. A source is yielded as soon as its search ends; with `attention`, or if
    worker processes search, at the end of its batch. With a `selection` a translation holds only the types that it
    chooses for its sentence; scores are those among all types if the model was laid out with `always`.
    `attention` is for models that have it, and costs one more run of the decoder over the finished hypotheses.
    `prefixes`, if there are any, are the ids that each source's hypotheses begin with; there is no selection then.
    `watch` is shown what each step of a beam search chose from.

    Raises `UserError` if a batch does not fit into memory.
    """
    flush_denormals()
    order = [i for i in longest_first(sources) if sources[i]]
    batches = [order[begin : begin + search.batch_size] for begin in range(0, len(order), search.batch_size)]
    device, at_once = laid_out.model.device, search.beam_size if search.sampling is None else n_best
    rows = at_once * sum(map(len, sources))  # translations are about as long as sources
    too_large = "out of memory while preparing the search: translate fewer sentences at a time, or use a smaller model"
    with torch.inference_mode(), _in_precision(device, search.precision), report_out_of_memory(lambda: too_large):
        ready = laid_out.for_search(search.precision, rows, at_once, choosing=selection is not None)

    def decoded(number: int) -> Iterator[tuple[int, list[Decoded]]]:
        chosen = batches[number]
        batch, begun = [sources[i] for i in chosen], [prefixes[i] for i in chosen] if prefixes else []
        out_of_memory = partial(_out_of_memory, len(batch), len(batch[0]), search, at_once)
        found = _decode_batch(ready, batch, begun, search, selection, n_best, attention, watch)
        for row, hypotheses in _computed(found, partial(_searching, ready, search, out_of_memory)):
            yield chosen[row], hypotheses

    # Threads that share each operation wait for each other thousands of times a second; processes of one thread do not.
    processes = torch.get_num_threads() if watch is None and device.type == "cpu" and can_fork() else 1
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
def _searching(model: TranslationModel, search: SearchConfig, out_of_memory: Callable[[], str]) -> Iterator[None]:
    in_precision = _in_precision(model.device, search.precision)
    with torch.inference_mode(), without_dropout(model), in_precision, report_out_of_memory(out_of_memory):
        yield


def _computed(found: Iterator[Found], context: Callable[[], AbstractContextManager[None]]) -> Iterator[Found]:
    """What an iterator computes, in a context that does not hold for whoever takes it."""
    while True:
        with context():
            try:
                one = next(found)
            except StopIteration:
                return
        yield one


def _decode_batch(
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]],
    search: SearchConfig,
    selection: Selection | None,
    n_best: int,
    attention: bool,
    watch: Callable[[Candidates], None] | None,
) -> Iterator[tuple[int, list[Decoded]]]:
    padded, lengths = pad_source(sources)
    state, memory = model.encode(padded.to(model.device), lengths)
    find = _finder(search, sources, n_best, model.device, watch)
    if prefixes:
        found = find(*_begun(model, prefixes, state, memory))
    elif selection is None:
        found = find(partial(_step, model), state, memory)
    else:
        always, own = candidates(selection, padded)
        types = torch.cat([always.expand(len(own), -1), own], dim=1).to(model.device)
        found = _in_types(find(*_limited(model, types, len(always), state, memory)), types)
    if not attention:
        for row, hypotheses in found:
            yield row, [Decoded(hypothesis, None) for hypothesis in hypotheses]
        return
    # The decoder runs over all hypotheses of the batch once more, now that it is known which ones are kept.
    kept = list(found)
    owner = [row for row, hypotheses in kept for _ in hypotheses]
    rows = torch.tensor(owner, device=model.device)
    ids = [hypothesis.ids for _, hypotheses in kept for hypothesis in hypotheses]
    source_lengths = [len(sources[i]) + 1 for i in owner]
    weights = iter(_weights(model, ids, source_lengths, select(state, rows), select(memory, rows)))
    for row, hypotheses in kept:
        yield row, [Decoded(hypothesis, next(weights)) for hypothesis in hypotheses]


def _finder(
    search: SearchConfig,
    sources: Sequence[Sequence[int]],
    n_best: int,
    device: torch.device,
    watch: Callable[[Candidates], None] | None,
) -> Callable[[Step, Any, Any], Iterator[tuple[int, list[Hypothesis]]]]:
    """What makes hypotheses of a step, a state and a memory: beam search, or drawing them at random."""
    if search.sampling is not None:
        options = search.sampling
        draws = uniform_draws(sources, n_best, search.max_length, options.seed).to(device)
        return partial(
            sample,
            draws=draws,
            bos=BOS,
            eos=EOS,
            alpha=search.length_penalty,
            temperature=options.temperature,
            top_k=options.top_k,
        )
    return partial(
        beam_search,
        bos=BOS,
        eos=EOS,
        beam_size=search.beam_size,
        alpha=search.length_penalty,
        max_length=search.max_length,
        n_best=n_best,
        watch=watch,
    )


def _step(
    model: TranslationModel, tokens: Int[Tensor, " N"], state: Any, memory: Any
) -> tuple[Float[Tensor, "N V"], Any]:
    log_probabilities, state = model.log_probabilities(tokens, state, memory)
    log_probabilities[:, PAD] = log_probabilities[:, BOS] = -torch.inf  # no target ever holds them
    return log_probabilities, state


def _begun(
    model: TranslationModel, prefixes: Sequence[Sequence[int]], state: Any, memory: Any
) -> tuple[Step, tuple[Any, Int[Tensor, " B"]], tuple[Any, Int[Tensor, "B P"]]]:
    """What a search for hypotheses that begin with given ids needs: its step, state and memory."""
    longest = max(map(len, prefixes))
    padded = [[*ids, *[PAD] * (longest - len(ids))] for ids in prefixes]
    ids = torch.tensor(padded, dtype=torch.long, device=model.device).view(len(prefixes), longest)
    done = torch.zeros(len(prefixes), dtype=torch.long, device=model.device)
    return beginning(partial(_step, model), PAD), (state, done), (memory, ids)


def _limited(
    model: TranslationModel, types: Int[Tensor, "B C"], shared: int, state: Any, memory: Any
) -> tuple[Step, Any, tuple[Any, Int[Tensor, "B C"], Choice]]:
    """What a search among each sentence's C types needs: its step, whose ids are their places, state and memory.

    All sentences share the first ones, `SPECIALS` before all others.
    """
    own = types[:, shared:]
    there = torch.zeros(int(types.max()) + 1, dtype=torch.bool, device=types.device)
    there[own.flatten()] = True  # `unique` would sort them, which takes ten times as long
    there[PAD] = False
    places = (there.cumsum(0) + shared - 1)[own].masked_fill_(own == PAD, PAD)
    union = torch.cat([types[0, :shared], there.nonzero().squeeze(1)])
    choice = Choice(places, chosen=shared + (own != PAD).sum(dim=1))
    return partial(_step_among, model.limited(union, shared)), state, (memory, types, choice)


def _step_among(
    model: TranslationModel, places: Int[Tensor, " N"], state: Any, memory: tuple[Any, Tensor, Choice]
) -> tuple[Float[Tensor, "N C"], Any]:
    own, types, choice = memory
    tokens = types.gather(1, places.view(len(types), -1)).flatten()
    return model.log_probabilities(tokens, state, own, choice)


def _in_types(
    found: Iterable[tuple[int, list[Hypothesis]]], types: Int[Tensor, "B C"]
) -> Iterator[tuple[int, list[Hypothesis]]]:
    of_row = types.tolist()
    for row, hypotheses in found:
        own = of_row[row]
        yield row, [Hypothesis(tuple(own[place] for place in each.ids), each.score) for each in hypotheses]


def _weights(
    model: TranslationModel, targets: Sequence[Sequence[int]], source_lengths: Sequence[int], state: Any, memory: Any
) -> list[Float[Tensor, "T S"]]:
    """The weights of each row while its target ids are written, cut to its own lengths. The last id is never read."""
    inputs = collate([Example([], list(ids[:-1])) for ids in targets]).target_input.to(model.device)
    weights = model.weights(inputs, state, memory)
    weights = weights.to("cpu", torch.promote_types(weights.dtype, torch.float32))  # autocast gives bfloat16
    return [
        weights[row, : len(ids), :length] for row, (ids, length) in enumerate(zip(targets, source_lengths, strict=True))
    ]


@contextmanager
def _in_precision(device: torch.device, precision: str) -> Iterator[None]:
    bf16 = precision == "bf16"  # int8 is that of the packed layers
    with products_in("bf16" if bf16 else "float32"), autocast(device, wanted=bf16):
        yield


@contextmanager
def without_dropout(model: TranslationModel) -> Iterator[None]:
    """The model in evaluation mode, and afterwards in the mode that it was in."""
    if not model.training:  # then entering this for each sentence that is found costs nothing
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()


def _out_of_memory(sentences: int, length: int, search: SearchConfig, at_once: int) -> str:
    fewer = "the beam size" if search.sampling is None else "n_best"
    return (
        f"out of memory for {sentences} sentences of up to {length} tokens with {at_once} hypotheses each: "
        f"lower the batch size (here: {search.batch_size}) or {fewer}"
    )
