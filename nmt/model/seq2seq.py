"""The whole model: encoder, decoder, and how a configuration becomes them."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.attention import Attention, FixedContext, Memory, make_attention
from nmt.model.decoder import BahdanauDecoder, Decoder, DecoderSizes, LuongDecoder, State
from nmt.model.encoder import Encoder


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

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[State, Memory]:
        """The decoder's initial state and memory for padded source ids."""
        encoded = self.encoder(source, source_lengths)
        return self.decoder.initial_state(encoded), self.decoder.prepare(encoded)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"],
        target_input: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"],
        use_reference: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "N V"], Float[Tensor, "B T #S"]]:
        """Logits at the N real target positions, row by row, and the attention weights at all of them.

        `real` is False at padding, for which nothing is worth computing; `use_reference` is `Decoder.forward`'s.
        """
        state, memory = self.encode(source, source_lengths)
        readouts, weights = self.decoder(target_input, state, memory, use_reference)
        return self.decoder.logits(readouts[real]), weights


def build_model(config: ModelConfig, source_types: int, target_types: int) -> Seq2Seq:
    """A freshly initialised model for vocabularies of these sizes. Draws from torch's global random generator."""
    target_embedding = nn.Embedding(target_types, config.embedding_size)
    source_embedding = (
        target_embedding if config.tied_embeddings == "all" else nn.Embedding(source_types, config.embedding_size)
    )
    encoder = Encoder(
        source_embedding,
        config.encoder.hidden_size,
        config.encoder.layers,
        config.encoder.dropout,
        config.embedding_dropout,
    )
    attention: Attention | FixedContext
    if config.attention.wiring == "none":
        attention = FixedContext()
    else:
        attention = make_attention(
            config.attention.score,
            config.attention.scope,
            query_size=config.decoder.hidden_size,
            memory_size=encoder.memory_size,
            size=config.attention.size or config.decoder.hidden_size,
            window=config.attention.window,
        )
    decoder = _make_decoder(config, target_embedding, attention, encoder.memory_size)
    model = Seq2Seq(encoder, decoder)
    _initialise(model)
    if config.tied_embeddings != "none":
        decoder.output.weight = target_embedding.weight
    return model


def _make_decoder(
    config: ModelConfig, embedding: nn.Embedding, attention: Attention | FixedContext, memory_size: int
) -> Decoder:
    sizes = DecoderSizes(
        memory=memory_size,
        hidden=config.decoder.hidden_size,
        layers=config.decoder.layers,
        embedding_dropout=config.embedding_dropout,
        dropout=config.decoder.dropout,
    )
    match config.attention.wiring:
        case "bahdanau" | "none":
            return BahdanauDecoder(embedding, attention, sizes)
        case "luong":
            return LuongDecoder(embedding, attention, sizes, input_feeding=config.attention.input_feeding)


def _initialise(model: Seq2Seq) -> None:
    """Embeddings N(0, 1/E); each gate of a recurrent matrix orthogonal; other matrices Glorot uniform; biases 0."""
    for name, parameter in model.named_parameters():
        if "embedding.weight" in name:
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
        elif parameter.dim() == 1:
            nn.init.zeros_(parameter)
        elif "weight_hh" in name or "rnn.recurrent" in name:
            for gate in parameter.chunk(3):
                nn.init.orthogonal_(gate)
        elif "weight_ih" in name or "gates" in name or "rnn.upper" in name:
            for gate in parameter.chunk(3):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.xavier_uniform_(parameter)
