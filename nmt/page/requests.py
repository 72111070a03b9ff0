"""What the page's server may be asked. A body with anything else in it is refused, with the field's name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MOST_BEAM = 50


def _whole(value: Any) -> Any:
    """JSON has one kind of numbers: 5.0 is a whole one, as the document says, but `true` and "5" are none."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, Field(max_length=20_000)]
Token = Annotated[str, Field(min_length=1, max_length=500)]
Index = Annotated[int, Field(ge=0, le=10_000, strict=True), BeforeValidator(_whole)]


class Request(BaseModel):
    """What all requests name: the model, by the id that `/api/models` lists, and the sentence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(max_length=20)] = "1"
    text: Text


class SearchRequest(Request):
    """How to search; what is left out is as the model was trained with."""

    beam_size: Annotated[int, Field(ge=1, le=MOST_BEAM, strict=True), BeforeValidator(_whole)] | None = None
    length_penalty: Annotated[float, Field(ge=0, le=10, strict=True)] | None = None


class TranslateRequest(SearchRequest):
    """A sentence to translate. `prefix` is the text that the translation begins with.

    Without `attention` the weights are left out, which is faster.
    """

    prefix: Text = ""
    attention: Annotated[bool, Field(strict=True)] = True


class ExplainRequest(SearchRequest):
    """A sentence to translate and to explain.

    `prefix` are the tokens that the translation begins with. `forced` are pairs of a target and a source position, from
    0: at that step all attention lies there.
    """

    prefix: Annotated[tuple[Token, ...], Field(max_length=1000)] = ()
    forced: Annotated[tuple[tuple[Index, Index], ...], Field(max_length=1000)] = ()


class ReadRequest(Request):
    """A sentence, and a translation of it that the model is made to write."""

    target: Text


class NeighboursRequest(Request):
    """A word of a sentence (`side: source`), or of the tokens of its translation (`target`), by its place, from 0."""

    target: Annotated[tuple[Token, ...], Field(max_length=1000)] = ()
    side: Literal["source", "target"] = "target"
    place: Index
    count: Annotated[int, Field(ge=1, le=50, strict=True), BeforeValidator(_whole)] = 10
