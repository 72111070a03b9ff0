"""The model's part of the configuration: sizes, and the axes of attention with what they allow of each other."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from nmt.parts import Count, DropoutRate, Section, spelled

Layers = Annotated[int, Field(ge=1, le=32, strict=True)]  # more can hardly be meant
ScoreName = Literal["additive", "concat", "linear", "general", "dot", "scaled_dot", "scaled_general", "location"]


class AttentionConfig(Section):
    """The axes of attention: when it is asked, how positions are scored, how far it sees; and its variants."""

    wiring: Literal["bahdanau", "luong", "none"] = "bahdanau"  # none: no attention, whatever the rest says
    score: ScoreName = "additive"
    scope: Literal["global", "local_m", "local_p"] = "global"
    window: Count = 10  # D, in source positions to each side; local scopes alone
    size: Count | None = None  # A of additive and concat alone, all heads together; null: the decoder's hidden size
    positions: Count = 101  # how many the score location knows, which alone uses it: data.max_length and EOS
    input_feeding: bool = True  # wiring luong alone
    hard: bool = False  # the context is the one memory vector with the largest weight
    key_value: bool = False  # half of each memory vector is scored, the other half averaged
    heads: Count = 1
    coverage: bool = False  # the score sees the weight that each position has got so far

    @model_validator(mode="after")
    def _location_has_no_keys(self) -> Self:
        if self.wiring != "none" and self.score == "location":
            for field in ("key_value", "heads", "coverage"):
                value, default = getattr(self, field), type(self).model_fields[field].default
                if value != default:
                    raise ValueError(
                        f"{field}: {spelled(value)} does not go with score: location, which has no keys but scores "
                        f"positions whatever stands there; set {field} to {spelled(default)}, or score to general"
                    )
        return self


class EncoderConfig(Section):
    hidden_size: Count = 256  # in each direction, so that a memory vector has M = 2 × hidden_size
    layers: Layers = 1
    dropout: DropoutRate = 0.3  # between layers and on the memory


class DecoderConfig(Section):
    hidden_size: Count = 256
    layers: Layers = 1
    dropout: DropoutRate = 0.3  # between layers and before the output layer
    readout_size: Count | None = None  # bahdanau and none: of the layer below the output's; null: embedding_size


class ModelConfig(Section):
    embedding_size: Count = 256
    embedding_dropout: DropoutRate = 0.3
    word_dropout: DropoutRate = 0.0  # of whole embeddings: the model reads a text with holes
    tied_embeddings: Literal["none", "target", "all"] = "none"  # target: decoder's input and output; all: source's too
    encoder: EncoderConfig = EncoderConfig()
    decoder: DecoderConfig = DecoderConfig()
    attention: AttentionConfig = AttentionConfig()

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        attention, hidden = self.attention, self.decoder.hidden_size
        if attention.wiring != "none":
            self._attention_fits(attention, hidden)
        readout = self.decoder.readout_size or self.embedding_size
        if self.tied_embeddings != "none" and attention.wiring != "luong" and readout != self.embedding_size:
            raise ValueError(
                f"tied_embeddings: {self.tied_embeddings} needs decoder.readout_size ({readout}) = embedding_size "
                f"({self.embedding_size}); remove readout_size, or set tied_embeddings to none"
            )
        if self.tied_embeddings != "none" and attention.wiring == "luong" and hidden != self.embedding_size:
            raise ValueError(
                f"tied_embeddings: {self.tied_embeddings} with attention.wiring: luong needs embedding_size "
                f"({self.embedding_size}) = decoder.hidden_size ({hidden}); set them alike, or tied_embeddings to none"
            )
        return self

    def _attention_fits(self, attention: AttentionConfig, hidden: int) -> None:
        encoder = self.encoder.hidden_size
        if attention.key_value and encoder % 2:
            raise ValueError(
                f"attention.key_value: true needs an even encoder.hidden_size (here: {encoder}), which it splits in "
                f"two; set encoder.hidden_size to {encoder + 1}, or attention.key_value to false"
            )
        vector, formula = (
            (encoder, "encoder.hidden_size") if attention.key_value else (2 * encoder, "2 × encoder.hidden_size")
        )
        if attention.score in ("dot", "scaled_dot") and attention.heads == 1 and hidden != vector:
            key_value = " with attention.key_value" if attention.key_value else ""
            raise ValueError(
                f"attention.score: {attention.score}{key_value} needs decoder.hidden_size ({hidden}) = {formula} "
                f"({vector}); set decoder.hidden_size to {vector}, or attention.score to "
                f"{attention.score.replace('dot', 'general')}"
            )
        sizes = [("decoder.hidden_size", hidden), (formula, vector)]
        if attention.size is not None and attention.score in ("additive", "concat"):
            sizes.append(("attention.size", attention.size))
        for name, size in sizes:
            if size % attention.heads:
                raise ValueError(
                    f"attention.heads: {attention.heads} does not divide {name} ({size}); "
                    f"set attention.heads to a divisor of it, or {name.split()[-1]} to a multiple of {attention.heads}"
                )
