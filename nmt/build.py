"""From a configuration to a model: the only place that knows both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from nmt.components import SCOPES, SCORES
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
    Raises `UserError` if the machine's memory is too small to train it.
    """
    _refuse_too_large(config, source_types, target_types)
    model = _assemble(config, source_types, target_types, segment_ends)
    _tie(model, config)
    return model


def build_empty(config: ModelConfig, source_types: int, target_types: int, segment_ends: Sequence[int] = ()) -> Seq2Seq:
    """The same model without values: its weights are on PyTorch's meta device, with their shapes and no memory."""
    with torch.device("meta"), _WithoutValues():
        return _assemble(config, source_types, target_types, segment_ends)


def segment_ends(config: AttentionConfig, source: Vocabulary) -> tuple[int, ...]:
    """The ids of the source tokens that end a segment; none for an attention that knows no segments.

    Raises `UserError` if it does, and there are no such tokens.
    """
    if config.wiring == "none" or not SCOPES[config.scope].has_segments:
        return ()
    texts = config.component("scope").segment_ends
    ids = tuple(i for i, token in enumerate(source.tokens) if token.removeprefix(SPACE_MARK) in texts)
    if not ids:
        raise UserError(
            f"model.attention.segment_ends: none of {', '.join(texts)} is a source token of this text; name tokens "
            f"that end its sentences, or set model.attention.scope to global"
        )
    return ids


def _refuse_too_large(config: ModelConfig, source_types: int, target_types: int) -> None:
    """Raise `UserError`, which names the largest size, before memory is taken: the system kills who takes too much."""
    # Of 32 bits each: weights, and on a processor gradients and Adam's two moments as well.
    numbers_per_weight = 1 if torch.cuda.is_available() else 4
    largest, field = max(_sizes(config.model_dump(), "model"))
    try:
        empty = build_empty(config, source_types, target_types)
        _tie(empty, config)
        weights = sum(parameter.numel() for parameter in empty.parameters())
    except RuntimeError:  # more than 64 bits can count
        raise UserError(f"{field} ({largest:,}) makes a model that no memory can hold: lower it") from None
    needed = 4 * numbers_per_weight * weights
    if needed > memory():
        raise UserError(
            f"{field} ({largest:,}) makes a model of {weights:,} parameters, which take {needed / 2**30:,.0f} GiB of "
            f"memory; there are {memory() / 2**30:,.1f}: lower it"
        )


def _sizes(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[int, str]]:
    """The sizes, and numbers of layers and positions, in nested values, with their dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _sizes(value, f"{prefix}.{name}")
        elif isinstance(value, int) and name.endswith(("size", "layers", "positions")):
            yield value, f"{prefix}.{name}"


def fill(model: Seq2Seq, config: ModelConfig, weights: Mapping[str, Tensor]) -> None:
    """Give an empty model its weights, which must have its names and shapes, in 32 bits.

    A model of 2.9 million parameters is there in 10 ms; to initialise it first would take 50.
    """
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    _tie(model, config)


class _WithoutValues(TorchFunctionMode):
    """Leaves out the `nn.init` of PyTorch's modules: on the meta device, drawing takes a second's worth of imports."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(function, "__module__", "") == nn.init.__name__:
            return [*args, *(kwargs or {}).values()][0]
        return function(*args, **kwargs or {})


def _tie(model: Seq2Seq, config: ModelConfig) -> None:
    if config.tied_embeddings != "none":
        model.decoder.output.weight = model.decoder.embedding.weight


def _assemble(config: ModelConfig, source_types: int, target_types: int, segment_ends: Sequence[int]) -> Seq2Seq:
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
        config.encoder.self_attention,
        config.cell,
    )
    return Seq2Seq(encoder, _make_decoder(config, target_embedding, encoder.memory_size, segment_ends))


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
        word_dropout=config.word_dropout,
        dropout=config.decoder.dropout,
        cell=config.cell,
    )
    match config.attention.wiring:
        case "bahdanau" | "none":
            return BahdanauDecoder(embedding, attention, sizes, config.decoder.readout)
        case "luong":
            return LuongDecoder(embedding, attention, sizes, input_feeding=config.attention.input_feeding)


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
    scope_kind = SCOPES[config.scope]
    if scope_kind.has_segments:
        of_segments = kind(score_query, score_memory, **options)
        scope = scope_kind(score_query, score=of_segments, ends=segment_ends)  # type: ignore[call-arg]
    else:
        scope = scope_kind(score_query, **config.options("scope"))
    return Attention(score, scope, heads, hard=config.hard, key_value=config.key_value)
