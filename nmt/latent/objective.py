"""Lower bounds of the log-likelihood, as objectives of training.

Shapes: B sentences, T target positions, N target tokens, S source positions, K of them, H decoder state.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.config.run import Config
from nmt.data.batching import Batch, send
from nmt.latent.config import LatentConfig
from nmt.latent.decoder import LatentDecoder, logarithms
from nmt.model.attention import Alignment
from nmt.model.seq2seq import Seq2Seq
from nmt.text.codec import Codec
from nmt.training.loss import BatchLoss, Loss, Objective


def objective_of(config: Config, _: Codec) -> Objective | None:
    """The loss of a batch under `model.attention.latent`; None for the usual one, which is `exact`."""
    latent = config.model.attention.latent
    return None if latent is None or latent.estimator == "exact" else partial(loss, latent)


def loss(settings: LatentConfig, losses: BatchLoss, batch: Batch) -> Loss:
    """Minus the lower bound, summed over target tokens, and the NLL: exact, or where positions are sampled an estimate.

    Label smoothing is that of each p(y | v_s, h). Positions are drawn with torch's random numbers.
    """
    model, smoothing = losses.model, losses.smoothing
    tokens, weights = read(model, batch)
    count = settings.samples or (1 if settings.estimator == "reinforce" else None)
    if count is None:
        bound, log_p = expected(model, tokens, smoothing)
    else:
        bound, log_p = sampled(model, tokens, smoothing, draw(tokens.q, count))
    if settings.entropy:
        bound = bound - settings.entropy * (tokens.alpha * logarithms(tokens.alpha)).sum(dim=1)
    total = -bound.sum()
    if losses.guidance is not None and batch.links is not None:
        links = send(batch.links, model.device)
        total = total + losses.guidance(Alignment(weights, None), links, losses.global_step)
    return Loss(total, -log_p.detach().sum())


class Tokens(NamedTuple):
    """N target tokens, and what the model makes of those before each."""

    targets: Int[Tensor, " N"]
    query: Float[Tensor, "N H"]
    of_memory: Float[Tensor, "N S H"]  # W_c's share of the memory vectors
    alpha: Float[Tensor, "N S"]
    q: Float[Tensor, "N S"]  # the inference network's weights; `alpha` itself without one


def read(model: Seq2Seq, batch: Batch) -> tuple[Tokens, Float[Tensor, "B T S"]]:
    """A batch's target tokens, and α of all target positions."""
    decoder = cast(LatentDecoder, model.decoder)
    positions, batch = send(batch.loss_positions, model.device), batch.to(model.device)
    state, memory = model.encode(batch.source, batch.source_lengths)
    query = decoder.queries(batch.target_input, state)
    weights = decoder.weights(query, memory)
    query, alpha = (x.flatten(0, 1).index_select(0, positions) for x in (query, weights))
    q, sentences = alpha, positions // batch.target_output.shape[1]
    if decoder.inference is not None:
        embedded = decoder.embedding_dropout(decoder.embedding(batch.target_output))
        q = decoder.inference(embedded, batch.target_lengths, memory).flatten(0, 1).index_select(0, positions)
    targets, of_memory = batch.target_output.flatten()[positions], memory.of_scope[0].index_select(0, sentences)
    return Tokens(targets, query, of_memory, alpha, q), weights


def expected(model: Seq2Seq, tokens: Tokens, smoothing: float) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
    """The ELBO of each token, Σ_s q_s log p(y | v_s, h) − KL(q ‖ α), and log p(y) = log Σ_s α_s p(y | v_s, h)."""
    log_p, f = log_likelihoods(model, tokens, tokens.of_memory, smoothing)
    bound = (tokens.q * f).sum(dim=1) - divergence(tokens.q, tokens.alpha)
    return bound, (logarithms(tokens.alpha) + log_p).logsumexp(dim=1)


def sampled(
    model: Seq2Seq, tokens: Tokens, smoothing: float, drawn: Int[Tensor, "N K"]
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
    """Estimates of the same from positions drawn from q, the first one with an unbiased gradient.

    It is the mean of ∇f_s + (f_s − b) ∇log q_s over the drawn s, with f_s = log p(y | v_s, h), minus that of KL(q ‖ α).
    The baseline b is f of the mean context Σ_s q_s v_s (Deng et al. 2018). With q = α, hard attention, the divergence
    is 0 (Xu et al. 2015, section 4.1, with a moving average as the baseline).
    """
    rows = drawn.unsqueeze(-1).expand(-1, -1, tokens.of_memory.shape[2])
    log_p, f = log_likelihoods(model, tokens, tokens.of_memory.gather(1, rows), smoothing)
    with torch.no_grad():  # W_c is linear, so its share of the mean is the mean of its shares
        mean = (tokens.q.unsqueeze(2) * tokens.of_memory).sum(dim=1, keepdim=True)
        _, baseline = log_likelihoods(model, tokens, mean, smoothing)
    log_alpha, log_q = (logarithms(x).gather(1, drawn) for x in (tokens.alpha, tokens.q))
    bound = (f + (f.detach() - baseline) * (log_q - log_q.detach())).mean(dim=1)
    if tokens.q is not tokens.alpha:
        bound = bound - divergence(tokens.q, tokens.alpha)
    return bound, (log_alpha - log_q + log_p).logsumexp(dim=1) - math.log(drawn.shape[1])


def log_likelihoods(
    model: Seq2Seq, tokens: Tokens, of_memory: Float[Tensor, "N K H"], smoothing: float
) -> Float[Tensor, "2 N K"]:
    """log p(y | v_s, h) of K positions of each token, without label smoothing and with it."""
    decoder = cast(LatentDecoder, model.decoder)
    vectors = decoder.dropout(decoder.vectors(of_memory, tokens.query))
    return decoder.output.log_likelihoods(vectors, tokens.targets, smoothing)


def draw(q: Float[Tensor, "N S"], count: int) -> Int[Tensor, "N K"]:
    """K = `count` independent positions of each row."""
    return torch.multinomial(q.detach(), count, replacement=True)


def divergence(q: Float[Tensor, "N S"], alpha: Float[Tensor, "N S"]) -> Float[Tensor, " N"]:
    """KL(q ‖ α)."""
    return (q * (logarithms(q) - logarithms(alpha))).sum(dim=1)
