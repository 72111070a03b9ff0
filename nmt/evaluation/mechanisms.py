"""What tables and pictures call a model's attention: "Luong, general, local-p"."""

from __future__ import annotations

from nmt.config.model import AttentionConfig


def mechanism(attention: AttentionConfig) -> str:
    """The attention's wiring, score, scope unless it is global, and variants, or "no attention"."""
    if attention.wiring == "none":
        return "no attention"
    parts = [attention.wiring.capitalize(), attention.score.replace("_", " ")]
    if attention.scope != "global":
        parts.append(attention.scope.replace("_", "-"))
    return ", ".join([*parts, *variants(attention)])


def variants(attention: AttentionConfig) -> list[str]:
    """The other fields that are not what this wiring, score and scope have by default: "hard", "4 heads"."""
    axes = {"wiring": attention.wiring, "score": attention.score, "scope": attention.scope}
    default = AttentionConfig.model_validate(axes).model_dump()
    words = []
    for field, value in attention.model_dump(exclude={"window"}).items():
        if value != default[field]:
            word = field.replace("_", " ")
            words.append(word if value is True else f"no {word}" if value is False else f"{value} {word}")
    return sorted(words)
