"""Ids in, hypotheses and attention weights out: how sources become batches and go through a model. Knows no text.

Shapes: B sentences of a batch, N hypotheses of a batch, T target ids, S source ids and the end of the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nmt.config.search import SearchConfig
from nmt.data.batching import pad_source
from nmt.decoding.beam_search import Adjust, Candidates, Choose, Hypothesis, beam_search, select
from nmt.decoding.ensemble import TranslationModel, without_dropout
from nmt.decoding.scoring import attention_weights
from nmt.system.device import configure_process, flush_denormals, report_out_of_memory
from nmt.text.vocabulary import BOS, EOS, PAD


def decode(
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    search: SearchConfig,
    *,
    n_best: int = 1,
    attention: bool = True,
    prefixes: Sequence[Sequence[int]] = (),
    adjust: Sequence[Adjust] = (),
    watch: Callable[[Candidates], None] | None = None,
    choose: Choose | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Search: yields the index of each source in `sources`, and its `n_best` hypotheses, best first.

    Sources are ids without the end of the sentence; empty ones are left out. Those of similar length share a batch of
    `search.batch_size`, the longest first. A source is yielded as soon as its search ends; with `attention`, or if
    worker processes search, at the end of its batch. With `search.sampling` hypotheses are drawn at random, and come in
    the order of drawing. `attention` is for models that have it, and costs one more run of the decoder over the
    finished hypotheses. `prefixes`, if there are any, are the ids that each source's hypotheses begin with.
    `adjust`, `watch` and `choose` are those of beam search; `choose` gets indices of `sources`. With options of an
    add-on in `search`, it may have further ones.

    Raises `UserError` if a batch does not fit into memory, and for options that do not fit the model.
    """
    configure_process()
    hooks = search.hooks(model, adjust=adjust, choose=choose)
    if watch is not None:
        watch = flush_denormals(False)(watch)
    order = [i for i in longest_first(sources) if sources[i]]
    batches = [order[begin : begin + search.batch_size] for begin in range(0, len(order), search.batch_size)]
    decoded = partial(_decode_batch, model, sources, search, n_best, attention, prefixes, watch, hooks)
    # Threads that share each operation wait for each other thousands of times a second; processes of one thread do not.
    processes = torch.get_num_threads() if watch is None and model.device.type == "cpu" else 1
    if 1 < processes <= len(order) // search.batch_size:
        from nmt.system.process_pool import can_fork, map_in_processes

        if can_fork():
            jobs = ((batch,) for batch in batches)
            results = map_in_processes(lambda batch: list(decoded(batch)), jobs, processes, fork=True)
            yield from _flushed(chain.from_iterable(results))
            return
    yield from _flushed(chain.from_iterable(map(decoded, batches)))


def _flushed(results: Iterator[tuple[int, list[Hypothesis]]]) -> Iterator[tuple[int, list[Hypothesis]]]:
    """The results, each computed with denormals flushed; whoever takes them computes as before."""
    return iter(flush_denormals()(partial(next, results, None)), None)


def longest_first(sources: Sequence[Sequence[int]]) -> list[int]:
    """The order in which sources are decoded: a batch too large for the memory fails at once, not at the end."""
    return sorted(range(len(sources)), key=lambda i: -len(sources[i]))


def _decode_batch(
    model: TranslationModel,
    all_sources: Sequence[Sequence[int]],
    search: SearchConfig,
    n_best: int,
    attention: bool,
    prefixes: Sequence[Sequence[int]],
    watch: Callable[[Candidates], None] | None,
    hooks: Mapping[str, Any],
    batch: Sequence[int],
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """What `decode` yields for the sources with these indices."""
    choose, rank = hooks["choose"], hooks.get("rank")
    sources = [all_sources[i] for i in batch]
    with without_dropout(model), report_out_of_memory(partial(_out_of_memory, sources, search, n_best)):
        padded, lengths = pad_source(sources)
        with torch.no_grad():
            state, memory = model.encode(padded.to(model.device), lengths)
        options: dict[str, Any] = {"bos": BOS, "eos": EOS, "alpha": search.length_penalty, "adjust": hooks["adjust"]}
        if prefixes:
            tensors = [torch.tensor(prefixes[i], dtype=torch.long, device=model.device) for i in batch]
            options["prefix"] = pad_sequence(tensors, batch_first=True, padding_value=-1)
        if search.sampling is None:
            count = n_best if rank is None else search.beam_size
            options |= {"beam_size": search.beam_size, "max_length": search.max_length, "n_best": count, "watch": watch}
            if choose is not None:
                numbers = torch.tensor(batch, device=model.device)
                options["choose"] = lambda totals, count, ids, rows: choose(totals, count, ids, numbers[rows])
            results = beam_search(partial(_step, model), state, memory, **options)
        else:
            from nmt.decoding.sampling import sample, uniform_draws

            draws = uniform_draws(sources, n_best, search.max_length, search.sampling.seed).to(model.device)
            options |= {name: getattr(search.sampling, name) for name in ("temperature", "top_k", "top_p")}
            results = sample(partial(_step, model), state, memory, draws, **options)
        if not attention and rank is None:
            yield from ((batch[row], hypotheses) for row, hypotheses in results)
            return
        # The decoder runs over all hypotheses of the batch once more, now that it is known which ones are kept.
        kept = list(results)
        row_of = [row for row, hypotheses in kept for _ in hypotheses]
        rows = torch.tensor(row_of, device=model.device)
        targets = [hypothesis.ids for _, hypotheses in kept for hypothesis in hypotheses]
        source_lengths = [len(sources[row]) + 1 for row in row_of]
        weights = iter(attention_weights(model, targets, source_lengths, select(state, rows), select(memory, rows)))
        for row, hypotheses in kept:
            hypotheses = [replace(hypothesis, attention=next(weights)) for hypothesis in hypotheses]
            yield batch[row], hypotheses if rank is None else rank(hypotheses)[:n_best]


@torch.no_grad()
def _step(
    model: TranslationModel, tokens: Int[Tensor, " N"], state: Any, memory: Any
) -> tuple[Float[Tensor, "N V"], Any]:
    log_probabilities, state = model.step(tokens, state, memory)
    log_probabilities[:, PAD] = log_probabilities[:, BOS] = -torch.inf  # no target has them
    return log_probabilities, state


def _out_of_memory(sources: Sequence[Sequence[int]], search: SearchConfig, n_best: int) -> str:
    hypotheses, fewer = (search.beam_size, "the beam size") if search.sampling is None else (n_best, "n_best")
    return (
        f"out of memory for {len(sources)} sentences of up to {len(sources[0])} tokens with {hypotheses} hypotheses "
        f"each: lower the batch size (here: {search.batch_size}) or {fewer}"
    )
