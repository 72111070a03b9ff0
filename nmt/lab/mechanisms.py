"""What tables and figures call a model's mechanism: "Luong, general, local-p"."""

from __future__ import annotations

from nmt.config.model import AttentionConfig, ModelConfig

OF_SCOPES = {"window", "narrow_from", "narrow_updates", "fixed_above", "segment_ends"}  # a column shows them


def mechanism(model: ModelConfig) -> str:
    """The attention's wiring, score, scope unless it is global, or "no attention"; and the model's variants."""
    attention, words = model.attention, ["no attention"]
    if attention.wiring != "none":
        scope = [] if attention.scope == "global" else [attention.scope.replace("_", "-")]
        words = [attention.wiring.capitalize(), attention.score.replace("_", " "), *scope]
    return ", ".join([*words, *variants(model)])


def variants(model: ModelConfig) -> list[str]:
    """What differs from the defaults: in the attention of this wiring, score and scope, in cell, encoder, readout."""
    others = {
        model.cell.upper(): model.cell != "gru",
        "encoder self-attention": model.encoder.self_attention,
        f"{model.decoder.readout} readout": model.decoder.readout != "tanh",
    }
    words = [] if model.attention.wiring == "none" else sorted(_of_attention(model.attention))
    return [*words, *(word for word, is_used in others.items() if is_used)]


def is_plain(model: ModelConfig) -> bool:
    """Whether only wiring and score are chosen: global scope and no variant."""
    return not variants(model) and (model.attention.wiring == "none" or model.attention.scope == "global")


def _of_attention(attention: AttentionConfig) -> list[str]:
    axes = {field: getattr(attention, field) for field in ("wiring", "score", "scope", "normalizer")}
    default = AttentionConfig.model_validate(axes).model_dump()
    words = [] if attention.normalizer == "softmax" else [attention.normalizer]
    for field, value in attention.model_dump(exclude=OF_SCOPES).items():
        if field == "fertility" and value is not None:
            words[words.index("coverage")] = f"coverage (fertility {value:g})"
        elif value != default.get(field):
            word = field.replace("_", " ")
            if isinstance(value, dict):  # a section: by its first option, as in "exact latent"
                option, value = next(iter(value.items()))
                word, value = (word, value) if isinstance(value, str) else (f"{word} ({option} {value})", True)
            words.append(word if value is True else f"no {word}" if value is False else f"{value} {word}")
    return words
