"""The whole model: encoder, decoder, and how a configuration becomes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from nmt.config.model import AttentionConfig, ModelConfig
from nmt.kernels import Embedding, reused_weights
from nmt.model.attention import Alignment, Attention, FixedContext, Heads, Memory
from nmt.model.decoder import BahdanauDecoder, Decoder, DecoderSizes, LuongDecoder, State
from nmt.model.encoder import Encoder
from nmt.model.scopes import SCOPES
from nmt.model.scores import SCORES


class Seq2Seq(nn.Module):
    """p(target | source), trained with teacher forcing."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.decoder.output.weight.device

    @property
    def has_attention(self) -> bool:
        return not isinstance(self.decoder.attention, FixedContext)

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[State, Memory]:
        """The decoder's initial state and memory for padded source ids."""
        encoded = self.encoder(source, source_lengths)
        return self.decoder.initial_state(encoded), self.decoder.prepare(encoded)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"],
        target_input: Int[Tensor, "B T"],
        places: Int[Tensor, " N"],
        use_reference: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "N F"], Alignment]:
        """What the output layer reads at N of the flattened target positions, and the weights (B T W) at all of them.

        `places` are those N, which leave out padding: nothing is worth computing there. `use_reference` is
        `Decoder.forward`'s.
        """
        state, memory = self.encode(source, source_lengths)
        with reused_weights(self.decoder):  # at each of T steps
            readouts, alignment = self.decoder(target_input, state, memory, use_reference)
        return self.decoder.features(readouts.flatten(0, 1).index_select(0, places)), alignment

    def log_probabilities(
        self, tokens: Int[Tensor, " N"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N V"], State]:
        """Of each hypothesis' next token, from its last one; and the new state."""
        readout, state, _ = self.decoder.step(self.decoder.embed(tokens), state, memory)
        return self.decoder.logits(readout).log_softmax(dim=1), state

    def weights(self, tokens: Int[Tensor, "B T"], state: State, memory: Memory) -> Float[Tensor, "B T S"]:
        """The attention weights while target tokens, BOS first, are read."""
        _, alignment = self.decoder(tokens, state, memory)
        return alignment.dense(memory.mask.shape[1])


def build_model(config: ModelConfig, source_types: int, target_types: int) -> Seq2Seq:
    """A freshly initialised model for vocabularies of these sizes. Draws from torch's global random generator."""
    model = _assemble(config, source_types, target_types)
    _tie(model, config)
    return model


def build_empty(config: ModelConfig, source_types: int, target_types: int) -> Seq2Seq:
    """The same model without values: its weights are on PyTorch's meta device, with their shapes and no memory."""
    with torch.device("meta"), _WithoutValues():
        return _assemble(config, source_types, target_types)


def fill(model: Seq2Seq, config: ModelConfig, weights: Mapping[str, Tensor]) -> None:
    """Give an empty model its weights, which must have its names and shapes, in 32 bits.

    A model of 2.9 million parameters is there in 10 ms; to initialise it first would take 50.
    """
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    _tie(model, config)


class _WithoutValues(TorchFunctionMode):
    """Leaves out `nn.init`: on the meta device, random values import a second's worth of modules."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(function, "__module__", "") == nn.init.__name__:
            return [*args, *(kwargs or {}).values()][0]
        return function(*args, **kwargs or {})


def _tie(model: Seq2Seq, config: ModelConfig) -> None:
    if config.tied_embeddings != "none":
        model.decoder.output.weight = model.decoder.embedding.weight


def _assemble(config: ModelConfig, source_types: int, target_types: int) -> Seq2Seq:
    target_embedding = Embedding(target_types, config.embedding_size)
    source_embedding = (
        target_embedding if config.tied_embeddings == "all" else Embedding(source_types, config.embedding_size)
    )
    encoder = Encoder(
        source_embedding,
        config.encoder.hidden_size,
        config.encoder.layers,
        config.encoder.dropout,
        config.embedding_dropout,
        config.word_dropout,
    )
    return Seq2Seq(encoder, _make_decoder(config, target_embedding, encoder.memory_size))


def _make_decoder(config: ModelConfig, embedding: nn.Embedding, memory_size: int) -> Decoder:
    attention: Attention | FixedContext
    if config.attention.wiring == "none":
        attention, context_size = FixedContext(), memory_size
    else:
        # With key_value, half of a memory vector is scored, and the other half is what a context averages.
        context_size = memory_size // 2 if config.attention.key_value else memory_size
        attention = make_attention(config.attention, config.decoder.hidden_size, context_size)
    sizes = DecoderSizes(
        memory=memory_size,
        context=context_size,
        hidden=config.decoder.hidden_size,
        readout=config.decoder.readout_size or config.embedding_size,
        layers=config.decoder.layers,
        embedding_dropout=config.embedding_dropout,
        word_dropout=config.word_dropout,
        dropout=config.decoder.dropout,
    )
    match config.attention.wiring:
        case "bahdanau" | "none":
            return BahdanauDecoder(embedding, attention, sizes)
        case "luong":
            return LuongDecoder(embedding, attention, sizes, input_feeding=config.attention.input_feeding)


def make_attention(config: AttentionConfig, query_size: int, value_size: int) -> Attention:
    """`value_size` is that of the vectors scored, and of those averaged."""
    heads, score_query, score_memory = None, query_size, value_size
    if config.heads > 1:
        heads = Heads(config.heads, query_size, value_size, value_size)
        score_query = score_memory = query_size // config.heads
    options = config.chosen("score").arguments(config.heads)
    score = SCORES[config.score](score_query, score_memory, coverage=config.coverage, **options)
    scope = SCOPES[config.scope](score_query, **config.chosen("scope").model_dump())
    return Attention(score, scope, heads, hard=config.hard, key_value=config.key_value)
