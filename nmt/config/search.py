"""What may be set about search, and about the evaluation of what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AliasChoices, Field, model_validator

from nmt import addons
from nmt.registry import Count, Fraction, Positive, PrecisionOption, Section

BEAM = AliasChoices("beam_size", "beam")  # the name, and the one on the command line


class SamplingConfig(Section):
    """Translations are drawn at random instead of searched for."""

    temperature: Positive = 1.0
    """Below 1, likely words become likelier; above 1, less likely."""
    top_k: Count | None = None
    """Only so many of the likeliest words are drawn from at each step. By default all are."""
    top_p: Fraction | None = None
    """Only the fewest likeliest words with at least this total probability are (Holtzman et al. 2020)."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Another seed draws other translations. With the same one, a sentence is always translated alike."""


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
    """The number of hypotheses that are kept. 1 is greedy search."""
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0
    """α of Wu et al. 2016, equation 14. 0: none."""
    sampling: SamplingConfig | None = None
    """Draws translations from the model's distribution, by `temperature`, `top_k`, `top_p` and `seed`, each by itself:
    there is no beam then, and `beam_size` is not used. By default translations are searched for."""
    max_length: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 100
    """The largest number of target tokens."""
    max_source_length: Count = 500
    """Source sentences with more tokens are cut off there, with a message on standard error."""
    split: bool | None = None
    """Translate each sentence of a line by itself. By default unless a tenth of the training lines had several."""
    block_repeats: bool = True
    """Never write the same word, or sequence of up to 6 tokens, three times in a row; numbers may repeat."""
    batch_size: Count = 64
    """Sentences that are searched at once."""
    precision: PrecisionOption = "float32"
    """Matrix products with the weights: `float32`, `bf16`, or on CPUs `int8` (factors are integers to ±127).

    `auto` is the fastest of them on the machine that searches, by its CPU's features: `bf16` with AMX, otherwise
    `int8` with VNNI, otherwise `bf16` with AVX512-BF16, otherwise `float32`, as on a GPU.
    """


class EvaluationConfig(Section):
    """How a finished run is scored."""

    split: str | None = None
    """The split that a finished run is scored on. By default `test`, or `validation` where there is no test set."""
    length_edges: tuple[Count, ...] = (10, 20, 30, 40, 50)
    """The upper ends of the buckets of BLEU by source length, in spaCy tokens."""

    @model_validator(mode="after")
    def _edges_increase(self) -> Self:
        if list(self.length_edges) != sorted(set(self.length_edges)):
            raise ValueError(f"length_edges {list(self.length_edges)} must increase; sort them, each once")
        return self
