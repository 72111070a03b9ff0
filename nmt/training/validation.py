"""Loss and BLEU on the validation set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import torch

from nmt.config.run import Config
from nmt.data.batching import Batch, Example, collate
from nmt.decoding.batches import longest_first
from nmt.evaluation.scores import sacrebleu_score
from nmt.model.seq2seq import Seq2Seq
from nmt.selection.lexical import Selection
from nmt.system.device import report_out_of_memory
from nmt.text.codec import Codec
from nmt.text.corpus import ParallelText
from nmt.training.distributed import ALONE, World
from nmt.training.loss import batch_loss
from nmt.translator import Translator


class Validation(NamedTuple):
    loss: float  # nats per target token, not smoothed, over the whole set
    bleu: float  # sacreBLEU from 0 to 100
    hypotheses: list[str]


def validate(
    model: Seq2Seq,
    source: Codec,
    target: Codec,
    config: Config,
    text: ParallelText,
    world: World = ALONE,
    selection: Selection | None = None,
) -> Validation:
    """A model's loss under teacher forcing, and its BLEU by the same search as everywhere else.

    References are lower-cased for a model that writes no capitals. Several processes share the batches, and all get the
    same result, which is that of one.
    """
    translator = Translator(model, source, target, config.search, selection)
    examples = [
        Example(source.encode(sentence), target.encode(translation))
        for sentence, translation in zip(text.source, text.target, strict=True)
    ]
    loss = mean_loss(model, examples, config.search.batch_size, world)
    order = longest_first([example.source[: config.search.max_source_length] for example in examples])
    own = world.batches(order, config.search.batch_size)
    translated = translator.translate([text.source[i] for i in own], attention=False)
    parts = world.gather([(i, translation.text) for i, translation in zip(own, translated, strict=True)])
    hypotheses = [hypothesis for _, hypothesis in sorted(chain.from_iterable(parts))]
    references = [line.lower() for line in text.target] if config.data.target.lowercase else text.target
    return Validation(loss, sacrebleu_score(hypotheses, references), hypotheses)


@torch.inference_mode()
def mean_loss(model: Seq2Seq, examples: Sequence[Example], batch_size: int, world: World = ALONE) -> float:
    """Negative log-likelihood in nats per target token, EOS counted; up to rounding, the same for any batch size."""
    order = sorted(range(len(examples)), key=lambda i: (len(examples[i].source), len(examples[i].target)))
    own = world.batches(order, batch_size)
    losses = []
    was_training = model.training
    model.eval()
    try:
        for begin in range(0, len(own), batch_size):
            batch = collate([examples[i] for i in own[begin : begin + batch_size]])
            with report_out_of_memory(partial(_out_of_memory, batch)):
                losses.append((own[begin], batch_loss(model, batch, smoothing=0.0).nll.item()))
    finally:
        model.train(was_training)
    of_batch = dict(chain.from_iterable(world.gather(losses)))
    nll = sum(
        of_batch[order[begin]] for begin in range(0, len(order), batch_size)
    )  # summed in the same order by any number of processes
    return nll / sum(len(example.target) + 1 for example in examples)


def _out_of_memory(batch: Batch) -> str:
    sentences, source = batch.source.shape
    return (
        f"data: out of memory for the loss of {sentences} validation sentences with up to {source} source and "
        f"{batch.target_input.shape[1]} target tokens: split the longest lines, or lower search.batch_size"
    )
