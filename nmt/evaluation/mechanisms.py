"""What tables and pictures call a model's mechanism: "Luong, general, local-p"."""

from __future__ import annotations

from nmt.config.model import AttentionConfig, ModelConfig

OF_SCOPES = {"window", "narrow_from", "narrow_updates", "fixed_above", "segment_ends"}  # a column shows them


def mechanism(model: ModelConfig) -> str:
    """The attention's wiring, score, scope unless it is global, or "no attention"; and the model's variants."""
    attention = model.attention
    parts = ["no attention"]
    if attention.wiring != "none":
        parts = [attention.wiring.capitalize(), attention.score.replace("_", " ")]
        if attention.scope != "global":
            parts.append(attention.scope.replace("_", "-"))
    return ", ".join([*parts, *variants(model)])


def variants(model: ModelConfig) -> list[str]:
    """What else is not as by default: of the attention with this wiring, score and scope ("hard", "4 heads"), of the
    cells, the encoder and the readout."""
    words = [] if model.attention.wiring == "none" else sorted(_of_attention(model.attention))
    if model.cell != "gru":
        words.append(model.cell.upper())
    if model.encoder.self_attention:
        words.append("encoder self-attention")
    if model.decoder.readout != "tanh":
        words.append(f"{model.decoder.readout} readout")
    return words


def is_plain(model: ModelConfig) -> bool:
    """Whether only wiring and score are chosen: global scope and no variant."""
    return not variants(model) and (model.attention.wiring == "none" or model.attention.scope == "global")


def _of_attention(attention: AttentionConfig) -> list[str]:
    axes = {"wiring": attention.wiring, "score": attention.score, "scope": attention.scope}
    default = AttentionConfig.model_validate(axes).model_dump()
    words = []
    for field, value in attention.model_dump(exclude=OF_SCOPES).items():
        if value != default[field]:
            word = field.replace("_", " ")
            words.append(word if value is True else f"no {word}" if value is False else f"{value} {word}")
    return words
