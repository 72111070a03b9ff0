"""What may be set about the model: its sizes, and the axes of attention with what they allow of each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from nmt import addons
from nmt.components import CELLS, NORMALIZERS, SCOPES, SCORES
from nmt.registry import BelowOne, Count, Section, spelled

Layers = Annotated[int, Field(ge=1, le=32, strict=True)]
if TYPE_CHECKING:
    MonotonicConfig = Any
    LatentConfig = Any
    Fertility = float
else:  # without the add-on: null alone
    MonotonicConfig = getattr(addons.offered("monotonic_config"), "MonotonicConfig", type(None))
    LatentConfig = getattr(addons.offered("latent_config"), "LatentConfig", type(None))
    Fertility = getattr(addons.offered("monotonic_config"), "Fertility", type(None))


class AttentionConfig(Section):
    """The axes of attention, which combine freely, and variants."""

    wiring: Literal["bahdanau", "luong", "none"] = "bahdanau"
    """When attention is computed. `bahdanau`: before the RNN step, queried by the previous state. `luong`: after it,
    queried by the new state. `none`: never; the decoder reads a fixed context."""
    score: Annotated[str, SCORES] = "additive"
    """How a query is compared with a source position."""
    scope: Annotated[str, SCOPES] = "global"
    """Which source positions are attended to."""
    normalizer: Annotated[str, NORMALIZERS] = "softmax"
    """How scores become weights."""
    input_feeding: bool = True
    """With `wiring: luong`: a step reads the previous attentional vector."""
    hard: bool = False
    """The context is the memory vector with the largest weight."""
    key_value: bool = False
    """Half of each memory vector is scored, and the other half averaged."""
    heads: Count = 1
    """The number of attention heads. Several project queries, keys and values."""
    projected: bool = False
    """A single head projects queries, keys and values, too."""
    coverage: bool = False
    """The sum of a position's weights so far is a feature of its score."""
    fertility: Fertility | None = None
    """With `coverage: true`: that sum is divided by a predicted one, of at most this (an add-on)."""
    monotonic: MonotonicConfig | None = None
    """Attention moves from left to right (an add-on)."""
    latent: LatentConfig | None = None
    """Attention weights mix the distributions of each position, not their vectors (an add-on)."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        wiring = values.get("wiring", "bahdanau")
        if wiring == "none":
            why = "with wiring: none; remove it, or set wiring to bahdanau or luong"
            return dict.fromkeys(cls.all_fields().keys() - {"wiring"}, why)
        unused = super().unused(values)
        unused |= {} if values.get("coverage") else {"fertility": "without coverage; remove it, or set that to true"}
        if wiring == "bahdanau":
            unused["input_feeding"] = "with wiring: bahdanau; remove it, or set wiring to luong"
        if isinstance(heads := values.get("heads"), int) and heads > 1:
            unused["projected"] = f"with heads: {heads}, which are projected; remove it, or set heads to 1"
        if values.get("monotonic") is not None and hasattr(MonotonicConfig, "unused_beside"):  # the add-on is there
            unused |= MonotonicConfig.unused_beside()
        return unused

    @model_validator(mode="after")
    def _variants_need_keys(self) -> Self:
        if self.wiring != "none" and not SCORES[self.score].reads_memory:
            for field in ("key_value", "heads", "projected", "coverage"):
                value, default = getattr(self, field), type(self).model_fields[field].default
                if value != default:
                    fix = f"set {field} to {spelled(default)}, or score to general"
                    raise ValueError(f"{field}: {spelled(value)} with score: {self.score}, which has no keys; {fix}")
        for section in (self.monotonic, self.latent):
            if section is not None:
                section.check(self)
        return self


class EncoderConfig(Section):
    """The bidirectional RNN that reads the source."""

    hidden_size: Count = 256
    """The size of the state in each direction. A memory vector has size M = 2 × `hidden_size`."""
    layers: Layers = 1
    """The number of layers."""
    dropout: BelowOne = 0.3
    """Dropout between layers, on the memory, and on the final states from which the decoder starts."""
    residual: bool = False
    """With several `layers`: from the second on, a layer's input is added to its output."""
    layer_norm: bool = False
    """Each layer's output is normalised."""
    bidirectional_layers: Layers | None = None
    """With several `layers`: so many at the bottom read in both directions, the others, of size M, from left to right.
    By default all read in both."""
    self_attention: Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)] = 0
    """With `attention.wiring: bahdanau` or `luong`: the heads of a self-attention over the states. 0: none."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        return super().unused(values) | _unused_connections(values)

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        size, both = 2 * self.hidden_size, self.bidirectional_layers
        if both is not None and both >= self.layers:
            raise ValueError(f"bidirectional_layers: {both} is not below layers: {self.layers}; lower it, or remove it")
        if self.self_attention and size % self.self_attention:
            why = f"does not divide 2 × hidden_size ({size}); set one to fit the other"
            raise ValueError(f"self_attention: {self.self_attention} {why}")
        return self


def _unused_connections(values: Mapping[str, Any]) -> dict[str, str | None]:
    single = values.get("layers", 1) == 1
    why = "with layers: 1; remove it, or set layers to 2 or more"
    return dict.fromkeys(("residual", "bidirectional_layers"), why) if single else {}


class DecoderConfig(Section):
    """The RNN that writes the target."""

    hidden_size: Count = 256
    """The size of the state, H."""
    layers: Layers = 1
    """The number of layers."""
    dropout: BelowOne = 0.3
    """Dropout between layers and before the output layer."""
    residual: bool = False
    """With several `layers`: from the second on, a layer's input is added to its output."""
    layer_norm: bool = False
    """Each layer's output is normalised."""
    readout: Literal["tanh", "linear", "maxout"] = "tanh"
    """With `attention.wiring: bahdanau` or `none`: what the output layer reads of r = [state; context; embedding].
    `tanh`: tanh(W r + b). `maxout`: the larger of each two values of W r + b. `linear`: r."""
    readout_size: Count | None = None
    """With `attention.wiring: bahdanau` or `none`, and `readout: tanh` or `maxout`: the size of the layer below the
    output layer. By default `embedding_size`."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        unused = super().unused(values) | _unused_connections(values)
        if values.get("readout") == "linear":
            unused["readout_size"] = "with readout: linear; remove it, or set readout to tanh or maxout"
        return unused


class ModelConfig(Section):
    """The model: embeddings, encoder, decoder, attention."""

    embedding_size: Count = 256
    """The size of word embeddings, E."""
    embedding_dropout: BelowOne = 0.3
    """Dropout on embeddings."""
    tied_embeddings: Literal["none", "target", "all"] = "none"
    """Which layers share one matrix. `target`: the decoder's input and output. `all`: the encoder's input, too."""
    cell: Annotated[str, CELLS] = "gru"
    """The recurrent cell of encoder and decoder."""
    encoder: EncoderConfig = Field(default_factory=EncoderConfig)
    """The encoder."""
    decoder: DecoderConfig = Field(default_factory=DecoderConfig)
    """The decoder."""
    attention: AttentionConfig = Field(default_factory=AttentionConfig)
    """The attention mechanism."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        wiring, kind, tied = self.attention.wiring, self.decoder.readout, self.tied_embeddings
        for field, value, other, fix in (
            ("decoder.readout_size", self.decoder.readout_size, "luong", "bahdanau"),
            ("encoder.self_attention", self.encoder.self_attention, "none", "bahdanau or luong"),
        ):
            if value and wiring == other:
                why = f"with attention.wiring: {wiring}; remove it, or set attention.wiring to {fix}"
                raise ValueError(f"{field} ({value}) has no effect {why}")
        if wiring != "none":
            self._require_fitting_sizes(self.attention, self.decoder.hidden_size)
        if wiring == "luong" and kind != "tanh":
            fix = "set decoder.readout to tanh, or wiring to bahdanau"
            raise ValueError(f"decoder.readout: {kind} with attention.wiring: luong, whose readout is tanh; {fix}")
        if tied != "none" and kind == "linear":
            fix = "set tied_embeddings to none, or decoder.readout to tanh"
            raise ValueError(f"tied_embeddings: {tied} cannot be combined with decoder.readout: linear; {fix}")
        field = "hidden_size" if wiring == "luong" else "readout_size"
        size = getattr(self.decoder, field) or self.embedding_size
        if tied != "none" and size != self.embedding_size:
            raise ValueError(
                f"tied_embeddings: {tied} with attention.wiring: {wiring} needs decoder.{field} ({size}) = "
                f"embedding_size ({self.embedding_size}); set both to the same size, or tied_embeddings to none"
            )
        return self

    def _require_fitting_sizes(self, attention: AttentionConfig, hidden: int) -> None:
        encoder, score = self.encoder.hidden_size, SCORES[attention.score]
        if attention.key_value and encoder % 2:
            fix = f"set encoder.hidden_size to {encoder + 1}, or attention.key_value to false"
            raise ValueError(f"attention.key_value: true needs an even encoder.hidden_size (here: {encoder}); {fix}")
        formula = "encoder.hidden_size" if attention.key_value else "2 × encoder.hidden_size"
        vector = encoder if attention.key_value else 2 * encoder
        projected = attention.heads > 1 or attention.projected
        if score.equal_sizes_or is not None and not projected and hidden != vector:
            raise ValueError(
                f"attention.score: {attention.score} needs decoder.hidden_size ({hidden}) = {formula} ({vector}); set "
                f"decoder.hidden_size to {vector}, or attention.score to {score.equal_sizes_or}"
            )
        units = getattr(attention, "size", None) or 0
        for name, size in (("decoder.hidden_size", hidden), (formula, vector), ("attention.size", units)):
            if size % attention.heads:
                raise ValueError(
                    f"attention.heads: {attention.heads} does not divide {name} ({size}); "
                    f"set attention.heads to a divisor of it, or {name.split()[-1]} to a multiple of {attention.heads}"
                )
