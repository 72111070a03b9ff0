"""Further fields of the config section `search`. With their defaults they change nothing, and are not written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from nmt.components import SCOPES
from nmt.registry import NonNegative, Section, spelled

Tokens = Annotated[int, Field(ge=0, le=10_000, strict=True)]


class SearchOptions(Section):
    """What search must not write, and how hypotheses are ranked."""

    min_length: Tokens = 0
    """The shortest translation, in tokens before the end token."""
    block_ngrams: Tokens = 0
    """No sequence of this many target tokens is written twice. 0: off."""
    repetition_penalty: Annotated[float, Field(ge=1, le=100)] = 1.0
    """θ of Keskar et al. 2019, section 4.1: log-probabilities of tokens already written are multiplied by it, in the
    scores of beam search too. 1: off."""
    coverage_penalty: Annotated[float, Field(ge=0, le=10)] = 0.0
    """β of Wu et al. 2016, equation 14: ended hypotheses that leave source tokens without attention rank lower, by at
    most 6.9 β for each. Scores stay the same. 0: off."""
    diverse_groups: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 1
    """The number of groups in the beam, each of which avoids the tokens of earlier ones at the same step (diverse beam
    search, Vijayakumar et al. 2018). `beam_size` must be a multiple."""
    diversity_strength: NonNegative = 0.5
    """λ of diverse beam search: what a token loses, in nats, for each earlier hypothesis that writes it."""

    @classmethod
    def all_fields(cls) -> dict[str, str | None]:
        """As `Section.all_fields`, with these options behind the fields of the core."""
        fields = super().all_fields()
        return {name: fields[name] for name in sorted(fields, key=lambda name: name in SearchOptions.model_fields)}

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        unused = super().unused(values)
        for field, info in SearchOptions.model_fields.items():
            value = values.get(field, info.default)
            if value == info.default and not isinstance(value, bool):
                unused[field] = None
        if "diverse_groups" in unused and "diversity_strength" not in unused:
            unused["diversity_strength"] = "with diverse_groups: 1; remove it, or set diverse_groups to 2 or more"
        return unused

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        beam, most, sampling = (getattr(self, name) for name in ("beam_size", "max_length", "sampling"))
        if self.min_length > most:
            raise ValueError(f"min_length ({self.min_length}) is above max_length ({most}); lower it, or raise that")
        if sampling is not None:
            for field in ("diverse_groups", "coverage_penalty"):
                if (value := getattr(self, field)) != (default := SearchOptions.model_fields[field].default):
                    fix = f"leave sampling out, or set {field} to {spelled(default)}"
                    raise ValueError(f"{field} ({value}) is for beam search, and sampling draws at random; {fix}")
        if beam > 1 and beam % self.diverse_groups:  # 1 is greedy search, of one group
            fix = "set beam_size to a multiple, or change diverse_groups"
            raise ValueError(f"beam_size ({beam}) is not a multiple of diverse_groups ({self.diverse_groups}); {fix}")
        return self

    def check(self, model: Any) -> None:
        """Raise ValueError for values that do not fit the section `model`."""
        if self.coverage_penalty:
            from nmt.search_options.coverage import unfit

            attention = model.attention
            if why := unfit(attention.wiring != "none", SCOPES[attention.scope]):
                raise ValueError(f"search.{why}")

    def hooks(self, model: Any, **hooks: Any) -> dict[str, Any]:
        """The hooks of search that these options need, beside others. Raises `UserError` if they do not fit."""
        if all(field in self.unused(dict(self)) for field in SearchOptions.model_fields):
            return hooks
        from nmt.search_options.hooks import hooks_of

        return hooks_of(self, model, **hooks)
