"""Luong's decoder with the source position as a latent variable (Deng et al. 2018).

p(y_t | y_<t, x) = Σ_s α_ts p(y_t | v_s, h_t), with p(y_t | v_s, h_t) = softmax(W_o tanh(W_c [v_s; h_t]) + b_o): the
attention weights mix distributions, where soft attention mixes the memory vectors v_s.

Shapes: B sentences, N rows, T target positions, S source positions, K of them, H decoder state, M memory vector,
E embedding, V vocabulary. A readout has R = S (H + 1) values: of each position h̃_s = tanh(W_c [v_s; h]) and log α_s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nmt.config.model import ModelConfig
from nmt.model.attention import Alignment, Attention, Memory
from nmt.model.decoder import DecoderSizes, DecoderState, StepResult
from nmt.model.encoder import Encoded
from nmt.model.layers import Linear
from nmt.model.luong import LuongDecoder
from nmt.model.normalizers import Softmax
from nmt.model.scores import GeneralScore

NEVER = -10_000.0  # in the place of log 0: its exponential is 0, and unlike −∞ it can be multiplied by 0
CHUNK = 2048  # source positions of target tokens whose logits exist at once


def make(config: ModelConfig, embedding: nn.Embedding, attention: Attention, sizes: DecoderSizes) -> LatentDecoder:
    """The decoder of a section `model` with latent attention."""
    latent, inference, hidden = config.attention.latent, None, config.encoder.hidden_size
    if latent is not None and latent.estimator == "variational":
        rnn = sizes.cell.bidirectional(config.embedding_size, hidden, 1, 0.0)
        inference = InferenceNetwork(rnn, 2 * hidden, sizes.memory)
    return LatentDecoder(embedding, attention, sizes, inference)


def logarithms(weights: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
    """log α; `NEVER` where α is 0, as at padding."""
    return weights.clamp(min=torch.finfo(weights.dtype).tiny).log().where(weights > 0, NEVER)


class InferenceNetwork(nn.Module):
    """q(s | x, y) = softmax(g_tᵀ W v_s)_s, with g_t the state of a bidirectional RNN over the target, at y_t.

    It guesses a token's position from the token itself and all others. Training alone uses it.
    """

    def __init__(self, rnn: nn.Module, state_size: int, memory_size: int) -> None:
        super().__init__()
        self.rnn = rnn
        self.score = GeneralScore(state_size, memory_size)
        self.normalizer = Softmax()

    def forward(
        self, embedded: Float[Tensor, "B T E"], lengths: Int[Tensor, " B"], memory: Memory
    ) -> Float[Tensor, "B T S"]:
        """The weights q of y_1 … y_T, which are embedded; `lengths` are on the CPU."""
        states, _ = self.rnn(embedded, lengths)
        return self.normalizer(self.score(states, self.score.keys(memory.values)), memory.mask.unsqueeze(1))


class MixtureOutput(nn.Module):
    """log Σ_s α_s softmax(W h̃_s + b): log-probabilities, from all positions' h̃_s and log α_s.

    The V logits of `CHUNK` positions exist at once; in training they are computed again in the backward pass. Compared
    with an ordinary output layer it is S times the work. It is no `nn.Linear`: on CPUs other precisions leave it alone.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        linear = Linear(inputs, outputs)
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, features: Float[Tensor, "*N R"]) -> Float[Tensor, "*N V"]:
        pairs = features.unflatten(-1, (-1, self.weight.shape[1] + 1))
        if torch.onnx.is_in_onnx_export():  # which cannot count rows
            return self.mixture(pairs)
        rows = pairs.flatten(0, -3)
        return in_chunks(self.mixture, rows.shape[1], rows).view(*features.shape[:-1], len(self.weight))

    def mixture(self, pairs: Float[Tensor, "*N S X"]) -> Float[Tensor, "*N V"]:
        """The same from X = H + 1 values of each position."""
        vectors, log_weights = pairs.split((self.weight.shape[1], 1), dim=-1)
        return (self.log_probabilities(vectors) + log_weights).logsumexp(dim=-2)

    def log_probabilities(self, vectors: Float[Tensor, "*N H"]) -> Float[Tensor, "*N V"]:
        """log p(y | v_s, h) of every token y, from h̃_s."""
        logits = F.linear(vectors, self.weight, self.bias)
        return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)

    def log_likelihoods(
        self, vectors: Float[Tensor, "N K H"], targets: Int[Tensor, " N"], smoothing: float = 0.0
    ) -> Float[Tensor, "2 N K"]:
        """log p(y | v_s, h) of each row's target, from K positions' h̃_s; and the same with label smoothing."""

        def chunk(vectors: Tensor, targets: Tensor) -> Tensor:
            log_p = self.log_probabilities(vectors)
            of_targets = log_p.gather(-1, targets.view(-1, 1, 1).expand(-1, log_p.shape[1], 1)).squeeze(-1)
            smoothed = (1 - smoothing) * of_targets + smoothing * log_p.mean(dim=-1) if smoothing else of_targets
            return torch.stack([of_targets, smoothed], dim=1)

        return in_chunks(chunk, vectors.shape[1], vectors, targets).transpose(0, 1)


def in_chunks(function: Callable[..., Tensor], positions: int, *rows: Tensor) -> Tensor:
    """A function of rows, some at a time: as many as have `CHUNK` positions. Its gradient computes it again."""
    chunks = [*zip(*(x.split(max(1, CHUNK // positions)) for x in rows), strict=True)]
    if torch.is_grad_enabled() and len(chunks) > 1:
        again = partial(checkpoint, function, use_reentrant=False, preserve_rng_state=False)
        return torch.cat([again(*chunk) for chunk in chunks])
    return torch.cat([function(*chunk) for chunk in chunks])


class LatentDecoder(LuongDecoder):
    """h_t = GRU(E y_{t−1}, h_{t−1}); α_t = attend(h_t); p(y_t) = Σ_s α_ts softmax(W_o tanh(W_c [v_s; h_t]) + b_o).

    The reported weights are α, the distribution of the position before y_t is known.
    """

    output: MixtureOutput  # type: ignore[assignment]  # in the place of a linear layer, with the same weights

    def __init__(
        self, embedding: nn.Embedding, attention: Attention, sizes: DecoderSizes, inference: InferenceNetwork | None
    ) -> None:
        super().__init__(embedding, attention, sizes, input_feeding=False)
        self.output = MixtureOutput(sizes.hidden, embedding.num_embeddings)
        self.inference = inference

    def prepare(self, encoded: Encoded) -> Memory:
        """The memory, and W_c's share of each of its vectors, (B S H)."""
        memory = super().prepare(encoded)
        return memory._replace(of_scope=(F.linear(memory.values, self._halves[0]),))

    @property
    def _halves(self) -> tuple[Tensor, ...]:
        """W_c's columns for a memory vector, and those for the state."""
        return self.combine.weight.split((self.sizes.context, self.sizes.hidden), dim=1)

    def vectors(self, of_memory: Float[Tensor, "*#N K H"], query: Float[Tensor, "*N H"]) -> Float[Tensor, "*N K H"]:
        """h̃ of K positions, from W_c's share of their memory vectors and the state h."""
        return torch.tanh(of_memory + F.linear(query, self._halves[1]).unsqueeze(-2))

    def queries(self, tokens: Int[Tensor, "B T"], state: DecoderState) -> Float[Tensor, "B T H"]:
        """The states h of all steps; `tokens` are the reference's, behind BOS."""
        return self.rnn.sequence(self.embed(tokens), state.hidden)

    def weights(self, query: Float[Tensor, "B T H"], memory: Memory) -> Float[Tensor, "B T S"]:
        """α of T queries of each sentence."""
        t = torch.arange(query.shape[1], device=query.device).expand(query.shape[:2])
        return self.attention(query, memory, t)[1].weights

    def readouts(
        self, query: Float[Tensor, "B T H"], weights: Float[Tensor, "B T S"], memory: Memory
    ) -> Float[Tensor, "B T R"]:
        """What the output layer reads of T queries of each sentence, without dropout."""
        vectors = self.vectors(memory.of_scope[0].unsqueeze(1), query)
        return torch.cat([vectors, logarithms(weights).unsqueeze(-1)], dim=-1).flatten(-2)

    def step(self, inputs: Float[Tensor, "N I"], state: DecoderState, memory: Memory) -> StepResult:
        hidden = self.rnn(inputs, state.hidden)
        query = self.rnn.top(hidden)
        _, state, alignment = self.attend(query, state, memory)
        sentences = memory.mask.shape[0]
        query, weights = (x.view(sentences, -1, x.shape[1]) for x in (query, alignment.weights))
        return self.readouts(query, weights, memory).flatten(0, 1), state._replace(hidden=hidden), alignment

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        state: DecoderState,
        memory: Memory,
        teacher_forcing_mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T R"], Alignment]:
        """As `Decoder.forward`: one attention answers all of T, unless the model reads its own tokens."""
        if teacher_forcing_mask is not None:
            return super().forward(tokens, state, memory, teacher_forcing_mask)
        query = self.queries(tokens, state)
        weights = self.weights(query, memory)
        return self.readouts(query, weights, memory), Alignment(weights, None)

    def features(self, readouts: Float[Tensor, "*N R"]) -> Float[Tensor, "*N R"]:
        """Dropout of all h̃_s, not of log α_s."""
        pairs = readouts.unflatten(-1, (-1, self.sizes.hidden + 1))
        vectors, log_weights = pairs.split((self.sizes.hidden, 1), dim=-1)
        return torch.cat([self.dropout(vectors), log_weights], dim=-1).flatten(-2)
