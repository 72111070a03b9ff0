"""The expected cost of a model's translations, estimated with samples, as the objective of training.

Shapes: B sentences, K samples of each, N rows (those of a sentence are adjacent), S source positions, T target
positions, L target tokens of all rows, F what the output layer multiplies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import sacrebleu
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from nmt.config.run import Config
from nmt.data.batching import Batch, pad, send
from nmt.decoding.beam_search import select
from nmt.decoding.ensemble import without_dropout
from nmt.decoding.sampling import sample
from nmt.evaluation.scores import bleu_tokenization
from nmt.model.seq2seq import Seq2Seq
from nmt.risk.config import MinimumRiskConfig
from nmt.text.codec import UNKNOWN, Codec
from nmt.text.normalization import normalized
from nmt.text.vocabulary import BOS, EOS
from nmt.training.loss import BatchLoss, Loss

Ids = list[int]  # of a target, with EOS unless it was cut
CHUNK = 1024  # target tokens whose logits exist at once
HIGHEST = 1 - 2.0**-32  # of the random numbers, for the reason in `nmt.decoding.sampling`


def objective_of(config: Config, target: Codec) -> Callable[[BatchLoss, Batch], Loss]:
    """The loss of a batch: the sum of its sentences' expected costs, and `likelihood` times the usual loss.

    Its NLL is that of the references. Samples are drawn without dropout, with torch's random numbers. They have at most
    `search.max_length` tokens, and at most twice as many as the longest reference of the batch.
    """
    settings = config.training.minimum_risk
    assert isinstance(settings, MinimumRiskConfig)
    score = sentence_score(settings.metric, target)

    def loss(losses: BatchLoss, batch: Batch) -> Loss:
        lengths = batch.target_lengths.tolist()
        references = [ids[:length] for ids, length in zip(batch.target_output.tolist(), lengths, strict=True)]
        longest = min(config.search.max_length, 2 * max(lengths))
        rows: list[list[Ids]] = []
        for reference, drawn in zip(references, draw(losses.model, batch, settings.samples, longest), strict=True):
            different = [ids for ids in dict.fromkeys(drawn) if list(ids) != reference]
            kept = different if settings.estimator == "minimum_risk" else drawn
            rows.append([reference, *map(list, kept)])
        scores = [[score(ids, of_sentence[0]) for ids in of_sentence] for of_sentence in rows]
        read = reread(losses.model, batch, rows)
        total, nll = read.log_p.new_zeros(()), -read.log_p.detach()[read.is_reference].sum()
        for log_p, of_sentence in zip(read.of_rows.split([*map(len, rows)]), scores, strict=True):
            total = total + expected_cost(settings, log_p, torch.tensor(of_sentence).to(log_p))
        if settings.likelihood:
            usual = losses.output_loss(read.features[read.is_reference], read.targets[read.is_reference])
            total = total + settings.likelihood * usual.smoothed
        return Loss(total, nll)

    return loss


def expected_cost(
    settings: MinimumRiskConfig, log_p: Float[Tensor, " N"], scores: Float[Tensor, " N"]
) -> Float[Tensor, ""]:
    """What has the gradient of a sentence's expected cost, from the reference and samples of it, in this order.

    `minimum_risk`: Σ_y Q(y) (1 − score(y)), where Q(y) = P(y)^α / Σ_y' P(y')^α (Shen et al. 2016, section 3).
    `reinforce`: −1/K Σ_k (score_k − b_k) log P(y_k) of the samples alone (Ranzato et al. 2016, section 3.2.1). The
    baseline b_k is the mean score of the other samples: it does not depend on y_k, so the gradient is not biased.
    """
    if settings.estimator == "minimum_risk":
        return (settings.alpha * log_p).softmax(dim=0) @ (1 - scores)
    log_p, scores = log_p[1:], scores[1:]
    others = (scores.sum() - scores) / (len(scores) - 1)
    return -((scores - others) * log_p).mean()


def sentence_score(metric: str, target: Codec) -> Callable[[Sequence[int], Sequence[int]], float]:
    """The score, from 0 to 1, of a hypothesis beside its reference, both as ids, by the text that they spell.

    An unknown token of the hypothesis is equal to none of the reference.
    """
    bleu = sacrebleu.BLEU(
        tokenize=bleu_tokenization(target.language), smooth_method="add-k", smooth_value=1, effective_order=True
    )
    scorer = bleu if metric == "bleu" else sacrebleu.CHRF()

    def score(hypothesis: Sequence[int], reference: Sequence[int]) -> float:
        texts = (normalized(target.decode([i for i in ids if i != EOS])) for ids in (hypothesis, reference))
        one, other = texts
        return float(scorer.sentence_score(one.replace(UNKNOWN, "\ue001"), [other]).score) / 100

    return score


@torch.no_grad()
def draw(model: Seq2Seq, batch: Batch, count: int, longest: int) -> list[list[tuple[int, ...]]]:
    """So many samples of each sentence, from the model's own distribution without dropout."""
    draws = torch.rand(len(batch.source), count, longest, dtype=torch.float64).clamp(max=HIGHEST)
    with without_dropout(model):
        state, memory = model.encode(batch.source.to(model.device), batch.source_lengths)
        drawn = dict(
            sample(
                model.step,
                state,
                memory,
                draws.to(model.device),
                bos=BOS,
                eos=EOS,
                alpha=0.0,
                temperature=1.0,
                top_k=None,
            )
        )
    return [[hypothesis.ids for hypothesis in drawn[sentence]] for sentence in range(len(batch.source))]


class Read(NamedTuple):
    """What the model, with dropout, makes of the rows' L target tokens."""

    log_p: Float[Tensor, " L"]
    of_rows: Float[Tensor, " N"]  # the sum of each row's
    features: Float[Tensor, "L F"]
    targets: Int[Tensor, " L"]
    is_reference: Int[Tensor, " R"]  # the indices of the tokens in the first row of each sentence


def reread(model: Seq2Seq, batch: Batch, rows: Sequence[Sequence[Ids]]) -> Read:
    """Read targets of each sentence, whose source is encoded once, with gradients."""
    flat = [ids for of_sentence in rows for ids in of_sentence]
    lengths = torch.tensor([*map(len, flat)])
    inputs, outputs = pad([[BOS, *ids[:-1]] for ids in flat]), pad(flat)
    positions = (torch.arange(inputs.shape[1]) < lengths.unsqueeze(1)).flatten().nonzero().squeeze(1)
    owners = torch.arange(len(rows)).repeat_interleave(torch.tensor([*map(len, rows)]))
    is_first = torch.tensor([n == 0 for of_sentence in rows for n in range(len(of_sentence))])
    row = torch.arange(len(flat)).repeat_interleave(lengths)
    targets = outputs.flatten()[positions]
    sent = (
        send(x, model.device) for x in (inputs, positions, owners, row, targets, is_first[row].nonzero().squeeze(1))
    )
    inputs, positions, owners, row, targets, is_reference = sent
    state, memory = model.encode(send(batch.source, model.device), batch.source_lengths)
    readouts, _ = model.decoder(inputs, select(state, owners), select(memory, owners))
    features = model.decoder.features(readouts.flatten(0, 1).index_select(0, positions))

    def log_probabilities(features: Tensor, targets: Tensor) -> Tensor:
        logits = model.decoder.output(features)
        return -F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), targets, reduction="none")

    chunks = zip(features.split(CHUNK), targets.split(CHUNK), strict=True)
    # Logits are computed again in the backward pass: those of all samples would take more memory than the rest.
    log_p = torch.cat([checkpoint(log_probabilities, *chunk, use_reentrant=False) for chunk in chunks])
    return Read(log_p, log_p.new_zeros(len(flat)).index_add(0, row, log_p), features, targets, is_reference)
