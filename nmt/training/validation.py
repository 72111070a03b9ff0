"""Loss and BLEU on the validation set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmt.config import Config
from nmt.data.batching import Example, collate
from nmt.data.codec import Codec
from nmt.data.corpus import ParallelText
from nmt.evaluation.metrics import sacrebleu_score
from nmt.model.seq2seq import Seq2Seq
from nmt.training.update import batch_loss
from nmt.translator import Translator


class Validation(NamedTuple):
    loss: float  # nats per target token, not smoothed, over the whole set
    bleu: float  # sacreBLEU from 0 to 100
    hypotheses: list[str]


def validate(model: Seq2Seq, source: Codec, target: Codec, config: Config, text: ParallelText) -> Validation:
    """A model's loss under teacher forcing, and its BLEU by the same search as everywhere else.

    References are lower-cased for a model that writes no capitals.
    """
    translator = Translator(model, source, target, config.search)
    examples = [
        Example(source.encode(sentence), target.encode(translation))
        for sentence, translation in zip(text.source, text.target, strict=True)
    ]
    loss = mean_loss(model, examples, config.search.batch_size)
    hypotheses = [translation.text for translation in translator.translate(text.source, attention=False)]
    references = [line.lower() for line in text.target] if config.data.target.lowercase else text.target
    return Validation(loss, sacrebleu_score(hypotheses, references), hypotheses)


@torch.inference_mode()
def mean_loss(model: Seq2Seq, examples: Sequence[Example], batch_size: int) -> float:
    """Negative log-likelihood in nats per target token, EOS counted: but for rounding, the same for any batch size."""
    order = sorted(range(len(examples)), key=lambda i: (len(examples[i].source), len(examples[i].target)))
    nll, tokens = 0.0, 0
    was_training = model.training
    model.eval()
    try:
        for begin in range(0, len(order), batch_size):
            batch = collate([examples[i] for i in order[begin : begin + batch_size]])
            nll += batch_loss(model, batch, smoothing=0.0).nll.item()
            tokens += batch.target_tokens
    finally:
        model.train(was_training)
    return nll / tokens
