"""What may be set about search, and about the evaluation of what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AliasChoices, Field, model_validator

from nmt import addons
from nmt.registry import Count, Fraction, Positive, PrecisionOption, Section

BEAM = AliasChoices("beam_size", "beam")  # the name, and the one on the command line


class SamplingConfig(Section):
    """Translations are sampled instead of searched for."""

    temperature: Positive = 1.0
    """Below 1, likely tokens become likelier; above 1, less likely."""
    top_k: Count | None = None
    """Sample from this many of the likeliest tokens. By default from all."""
    top_p: Fraction | None = None
    """Sample from the fewest likeliest tokens with at least this total probability (Holtzman et al. 2020)."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """The random seed. The same seed gives the same translation of a sentence."""


class NoSearchOptions(Section):
    """Search without the add-on `nmt.search_options`."""

    def check(self, model: Any) -> None:
        """Raise ValueError for values that do not fit the section `model`."""

    def hooks(self, model: Any, **hooks: Any) -> dict[str, Any]:
        """`adjust` and `choose` of a beam search by a model, maybe changed; or `rank`, which sorts hypotheses.

        `rank` gets those of a sentence, with attention. Raises `UserError` for options that do not fit the model.
        """
        return hooks


if TYPE_CHECKING:
    SearchOptions = NoSearchOptions
else:
    SearchOptions = getattr(addons.offered("search_options"), "SearchOptions", NoSearchOptions)


class SearchConfig(SearchOptions):
    """Beam search."""

    beam_size: Annotated[int, Field(ge=1, le=10_000, strict=True, validation_alias=BEAM)] = 5
    """Hypotheses that are kept. 1 is greedy search."""
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0
    """α of Wu et al. 2016, equation 14. 0: none."""
    sampling: SamplingConfig | None = None
    """Sample translations from the model's distribution; `beam_size` is not used. By default they are searched for."""
    max_length: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 100
    """The longest translation, in tokens."""
    max_source_length: Count = 500
    """Longer source sentences, in tokens, are cut off there, with a message on standard error."""
    split: bool | None = None
    """Translate each sentence of a line by itself. By default unless a tenth of the training lines had several."""
    block_repeats: bool = True
    """Never write the same word, or sequence of up to 6 tokens, three times in a row; numbers may repeat."""
    batch_size: Count = 64
    """Sentences that are searched at once."""
    precision: PrecisionOption = "float32"
    """The precision of matrix products with the weights; `int8` (factors are integers to ±127) on CPUs only.

    `auto` depends on the CPU: `bf16` with AMX, else `int8` with VNNI, else `bf16` with AVX512-BF16, else `float32`, as
    on a GPU.
    """


class EvaluationConfig(Section):
    """How a finished run is scored."""

    split: str | None = None
    """The split to score. By default `test`, or `validation` where there is no test set."""
    length_edges: tuple[Count, ...] = (10, 20, 30, 40, 50)
    """The upper ends of the buckets of BLEU by source length, in spaCy tokens."""

    @model_validator(mode="after")
    def _edges_increase(self) -> Self:
        if list(self.length_edges) != sorted(set(self.length_edges)):
            raise ValueError(f"length_edges {list(self.length_edges)} must increase; sort them, each once")
        return self
