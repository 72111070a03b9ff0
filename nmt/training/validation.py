"""Loss and BLEU on the validation set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import torch

from nmt import addons
from nmt.config.run import Config
from nmt.data.batching import Batch, Example, collate
from nmt.decoding.batches import longest_first
from nmt.decoding.ensemble import without_dropout
from nmt.evaluation.scores import chrf_score, sacrebleu_score
from nmt.model.seq2seq import Seq2Seq
from nmt.system.device import report_out_of_memory
from nmt.system.wording import counted
from nmt.text.codec import Codec
from nmt.text.corpus import ParallelText
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.loss import BatchLoss
from nmt.translator import translator_type


class Validation(NamedTuple):
    loss: float  # nats per target token, not smoothed, over the whole set
    bleu: float  # sacreBLEU from 0 to 100; 0 where it is undefined
    hypotheses: list[str]
    chrf: float | None = None  # where BLEU is undefined, and this score takes its place
    attention: dict[str, float] | None = None  # what the add-on `nmt.align` makes of it, of at most 500 pairs
    repetitive: int = 0  # hypotheses whose words repeat, and not in the source


def validate(
    model: Seq2Seq,
    source: Codec,
    target: Codec,
    config: Config,
    text: ParallelText,
    group: ProcessGroup = SINGLE_PROCESS,
) -> Validation:
    """A model's loss under teacher forcing, and its BLEU by the same search as everywhere else.

    Several processes share the batches, and all get the result of one, up to rounding.
    """
    translator = translator_type(config)(model, source, target, config.search, fast=config.training.fast)
    pairs = translator.examples(text.source, text.target)
    loss = mean_loss(model, pairs, config.search.batch_size, group)
    order = longest_first([pair.source[: config.search.max_source_length] for pair in pairs])
    shard = list(chain.from_iterable(group.shard(_batches(order, config.search.batch_size))))
    translations = translator.translate([text.source[i] for i in shard], attention=False)
    results = [(i, t.text, t.is_repetitive) for i, t in zip(shard, translations, strict=True)]
    _, hypotheses, repetitive = map(list, zip(*sorted(chain.from_iterable(group.gather(results))), strict=True))
    references = [line.lower() for line in text.target] if config.data.target.lowercase else text.target
    bleu = sacrebleu_score(hypotheses, references, target.language)
    chrf = None if bleu is not None else chrf_score(hypotheses, references)
    room = addons.offered("attention_statistics")
    attention = None if room is None else room.statistics(translator, text, most=500)
    return Validation(loss, bleu or 0.0, hypotheses, chrf, attention, sum(repetitive))


@torch.inference_mode()
def mean_loss(
    model: Seq2Seq, examples: Sequence[Example], batch_size: int, group: ProcessGroup = SINGLE_PROCESS
) -> float:
    """Negative log-likelihood in nats per target token, EOS counted; up to rounding, the same for any batch size."""
    order = sorted(range(len(examples)), key=lambda i: (len(examples[i].source), len(examples[i].target)))
    nll = 0.0
    with without_dropout(model):
        for indices in group.shard(_batches(order, batch_size)):
            batch = collate([examples[i] for i in indices])
            size = describe_batch(batch, "validation sentence")
            message = f"data: out of memory for the loss of {size}: split long lines, or lower search.batch_size"
            with report_out_of_memory(partial(str, message)):
                nll += BatchLoss(model, smoothing=0.0)(batch).nll.item()
    [total] = group.total(nll)
    return total / sum(len(example.target) + 1 for example in examples)


def _batches(order: Sequence[int], batch_size: int) -> list[Sequence[int]]:
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def sample_translations(text: ParallelText, hypotheses: Sequence[str]) -> list[dict[str, str]]:
    """Three sentences from the whole of the validation set, with their references and the model's hypotheses."""
    count = len(hypotheses)
    return [
        {"source": text.source[i], "reference": text.target[i], "hypothesis": hypotheses[i]}
        for i in sorted({count // 6, count // 2, count - 1 - count // 6})
    ]


def describe_batch(batch: Batch, noun: str = "sentence") -> str:
    """How large a batch is, for messages about memory."""
    (sentences, source), target = batch.source.shape, batch.target_input.shape[1]
    return f"{counted(sentences, noun)} with up to {source} source and {target} target tokens"
