"""From a configuration to a model: the only place that knows both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from nmt.addons import offered
from nmt.components import CELLS, NORMALIZERS, SCOPES, SCORES
from nmt.config.model import AttentionConfig, ModelConfig
from nmt.model.attention import Attention, FixedContext
from nmt.model.bahdanau import BahdanauDecoder
from nmt.model.decoder import Decoder, DecoderSizes
from nmt.model.encoder import Encoder
from nmt.model.layers import Embedding
from nmt.model.luong import LuongDecoder
from nmt.model.seq2seq import Seq2Seq
from nmt.model.variants.heads import Heads
from nmt.system.device import memory
from nmt.system.errors import UserError
from nmt.text.tokenizers import SPACE_MARK
from nmt.text.vocabulary import Vocabulary


def build_model(config: ModelConfig, source_types: int, target_types: int, segment_ends: Sequence[int] = ()) -> Seq2Seq:
    """A freshly initialised model for vocabularies of these sizes. Draws from torch's global random generator.

    `segment_ends` are the source ids that end a segment, for an attention that knows segments.
    Raises `UserError` if the machine's memory is too small to train it: the system kills who takes too much.
    """
    try:
        weights = sum(weight.numel() for weight in build_empty(config, source_types, target_types).parameters())
    except RuntimeError:  # 64 bits cannot count them
        weights = 2**63
    # Of 32 bits each: weights, and on a CPU gradients and Adam's two moments as well.
    needed = 4 * weights * (1 if torch.cuda.is_available() else 4)
    if needed > memory():
        raise UserError(f"model: {weights:,} parameters take {needed / 2**30:,.0f} GiB of memory: lower its sizes")
    return _assemble(config, source_types, target_types, segment_ends)


def build_empty(config: ModelConfig, source_types: int, target_types: int, segment_ends: Sequence[int] = ()) -> Seq2Seq:
    """The same model without values: its weights are on PyTorch's meta device, with their shapes and no memory."""
    with torch.device("meta"):
        return _assemble(config, source_types, target_types, segment_ends)


def fill(model: Seq2Seq, config: ModelConfig, weights: Mapping[str, Tensor]) -> None:
    """Give an empty model its weights, which must have its names and shapes, in 32 bits."""
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    _tie(model, config)


def segment_ends(config: AttentionConfig, source: Vocabulary) -> tuple[int, ...]:
    """The ids of the source tokens that end a segment, if the attention has segments. `UserError` if there are none."""
    if config.wiring == "none" or not SCOPES[config.scope].has_segments:
        return ()
    texts = config.component("scope").segment_ends
    ids = tuple(i for i, token in enumerate(source.tokens) if token.removeprefix(SPACE_MARK) in texts)
    if not ids:
        field = "model.attention.segment_ends"
        raise UserError(f"{field}: none of {', '.join(texts)} is a source token; name others, or set scope to global")
    return ids


def _tie(model: Seq2Seq, config: ModelConfig) -> None:
    if config.tied_embeddings != "none":
        model.decoder.output.weight = model.decoder.embedding.weight


def _assemble(config: ModelConfig, source_types: int, target_types: int, segment_ends: Sequence[int]) -> Seq2Seq:
    embedding, settings = Embedding(target_types, config.embedding_size), config.encoder
    source_embedding = embedding if config.tied_embeddings == "all" else Embedding(source_types, config.embedding_size)
    options = settings.dropout, config.embedding_dropout, settings.self_attention
    encoder = Encoder(source_embedding, _encoder_layers(config), 2 * settings.hidden_size, *options)
    decoder = _make_decoder(config, embedding, encoder.memory_size, segment_ends)
    if any(between := (config.decoder.residual, config.decoder.layer_norm)):
        decoder.rnn = _deep_layers().DeepStack(decoder.rnn, config.decoder.hidden_size, *between)
    model = Seq2Seq(encoder, decoder)
    _tie(model, config)
    return model


def _encoder_layers(config: ModelConfig) -> nn.Module:
    cell, settings = CELLS[config.cell], config.encoder
    sizes = config.embedding_size, settings.hidden_size, settings.layers, settings.dropout
    options = settings.model_dump(include={"bidirectional_layers", "residual", "layer_norm"})
    if any(options.values()):
        return cast(nn.Module, _deep_layers().DeepBidirectional(cell, *sizes, **options))
    return cell.bidirectional(*sizes)


def _deep_layers() -> Any:
    if (module := offered("deep_layers")) is None:
        raise UserError("residual, layer_norm and bidirectional_layers need the add-on nmt.variants; leave them out")
    return module


def _make_decoder(
    config: ModelConfig, embedding: nn.Embedding, memory_size: int, segment_ends: Sequence[int]
) -> Decoder:
    attention: Attention | FixedContext
    if config.attention.wiring == "none":
        attention, context_size = FixedContext(), memory_size
    else:
        # With key_value, half of a memory vector is scored, and the other half is what a context averages.
        context_size = memory_size // 2 if config.attention.key_value else memory_size
        attention = make_attention(config.attention, config.decoder.hidden_size, context_size, segment_ends)
    sizes = DecoderSizes(
        memory=memory_size,
        context=context_size,
        hidden=config.decoder.hidden_size,
        readout=config.decoder.readout_size or config.embedding_size,
        layers=config.decoder.layers,
        embedding_dropout=config.embedding_dropout,
        dropout=config.decoder.dropout,
        cell=CELLS[config.cell],
    )
    if config.attention.latent is not None:
        return cast(Decoder, offered("latent").make(config, embedding, attention, sizes))
    if config.attention.wiring == "luong":
        return LuongDecoder(embedding, attention, sizes, input_feeding=config.attention.input_feeding)
    return BahdanauDecoder(embedding, attention, sizes, config.decoder.readout)


def make_attention(
    config: AttentionConfig, query_size: int, value_size: int, segment_ends: Sequence[int] = ()
) -> Attention:
    """`value_size` is that of the vectors scored, and of those averaged."""
    heads, score_query, score_memory = None, query_size, value_size
    if config.heads > 1 or config.projected:
        heads = Heads(config.heads, query_size, value_size)
        score_query = score_memory = query_size // config.heads
    kind = SCORES[config.score]
    options = kind.options_of_a_head(config.options("score"), config.heads)
    score = kind(score_query, score_memory, coverage=config.coverage, **options)
    score = offered("fertility").FertileScore(score, score_memory, config.fertility) if config.fertility else score
    scope_kind = SCOPES[config.scope]
    if scope_kind.has_segments:
        of_segments = kind(score_query, score_memory, **options)
        scope = scope_kind(score_query, score=of_segments, ends=segment_ends)  # type: ignore[call-arg]
    else:
        scope = scope_kind(score_query, **config.options("scope"))
    if config.monotonic is not None:
        of_chunks = kind(score_query, score_memory, **options) if config.monotonic.chunk > 1 else None
        return cast(Attention, offered("monotonic").make(config, score, scope, of_chunks))
    scope.normalizer = NORMALIZERS[config.normalizer](**config.options("normalizer"))
    return Attention(score, scope, heads, hard=config.hard, key_value=config.key_value)
