"""The requests and answers of the server, as the OpenAPI document describes them. Other fields are refused by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from nmt.config.search import BEAM
from nmt.evaluation.by_length import Bucket
from nmt.page.checks import Checks, Text
from nmt.page.checks import Question as Question

Row = list[float]
Table = list[list[float]]


def _whole(value: Any) -> Any:
    """JSON has one kind of numbers: 5.0 is a whole one, as the document says, but `true` and "5" are none."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


TokenText = Annotated[str, Field(min_length=1, max_length=500)]
BeamSize = Annotated[int, Field(ge=1, le=50, strict=True), BeforeValidator(_whole)]
Position = Annotated[int, Field(ge=0, le=10_000, strict=True), BeforeValidator(_whole)]


class SearchRequest(Question):
    """How to search; what is left out is as in training. `glossary`: terms, each with the translation it must have."""

    glossary: Annotated[tuple[tuple[TokenText, TokenText], ...], Field(max_length=200)] = ()
    beam_size: BeamSize | None = Field(None, validation_alias=BEAM)
    length_penalty: Annotated[float, Field(ge=0, le=10, strict=True)] | None = None


class TranslateRequest(SearchRequest):
    """A text or several, and how translations begin. The tags of `html` return in `text`, not in tokens."""

    text: Text | Annotated[tuple[Text, ...], Field(max_length=256)]  # type: ignore[assignment]
    prefix: Text = ""
    n_best: BeamSize = 1
    format: Literal["text", "html"] = "text"
    attention: Annotated[bool, Field(strict=True)] = True


class ExplainRequest(SearchRequest):
    """A sentence to explain; `prefix`: the tokens that its translation begins with; `forced`: pairs of a target and a
    source position, from 0, where all attention lies.
    """

    prefix: Annotated[tuple[TokenText, ...], Field(max_length=1000)] = ()
    forced: Annotated[tuple[tuple[Position, Position], ...], Field(max_length=1000)] = ()


class ReadRequest(Question):
    """A sentence, and a translation of it that the model is made to write."""

    target: Text


class NeighboursRequest(Question):
    """A word of a sentence (`side: source`), or of the tokens of its translation (`target`), by its place, from 0."""

    target: Annotated[tuple[TokenText, ...], Field(max_length=1000)] = ()
    side: Literal["source", "target"] = "target"
    place: Position
    count: Annotated[int, Field(ge=1, le=50, strict=True), BeforeValidator(_whole)] = 10


class Answer(BaseModel):
    """Nothing but these fields; those with a default may be missing."""

    model_config = ConfigDict(extra="forbid")


class Refused(Answer):
    """Why a question is not answered."""

    error: str


class Model(Answer):
    """A model: its languages, its terms of use, how it searches, how much it reads, what else it can be asked for.

    `score` and `scope` are the formulas of its attention. A text is unlike what it was trained on if the mean
    log-probability of its translation's tokens is below `unlike_below`, in nats, or its `source_rarity` above
    `unlike_above`.
    """

    id: str
    name: str
    source_language: str
    target_language: str
    terms: str | None
    attention: bool
    wiring: Literal["luong", "bahdanau", "none"]
    score: str | None
    scope: str | None
    neighbours: bool
    beam_size: int
    length_penalty: float
    max_length: int
    max_source_length: int
    unlike_below: float | None
    unlike_above: float | None
    source_words: int
    target_words: int
    vocabulary: str


class Token(Answer):
    """A token, how people read it, and the number of the word that it is part of."""

    token: str
    label: str
    kind: Literal["word", "end", "unknown", "space"]
    word: int


class Sentence(Answer):
    """A translation. Its score is its log-probability by its length penalty."""

    text: str
    tokens: list[str]
    score: float


class Translated(Sentence, Checks):
    """`attention` has a row for each token, with its weight on each source token; null for several `sentences`."""

    source_tokens: list[str]
    attention: Table | None
    n_best: list[Sentence] = []
    sentences: list[Translated] = []
    source: str | None = None


class Likely(Answer):
    """A token that may come next."""

    token: str
    probability: float


class Step(Answer):
    """A step of the decoding. Without attention, `weights` is null, and what follows it is missing."""

    token: str
    probability: float
    place: int
    likeliest: list[Likely]
    query: Row
    context: Row
    weights: Row | None
    heads: Table | None = None
    scores: Table = []
    parts: Row = []
    centre: Row | None = None
    window: int | None = None
    coverage: Row | None = None


class Node(Answer):
    """A hypothesis of the search: its last token, and the place of the one before it in the tree."""

    parent: int | None
    token: str
    length: int
    log_probability: float
    penalty: float
    score: float
    fate: Literal["kept", "cut", "finished"]
    rank: int | None


class Reading(Answer):
    """The steps in which a model writes a given translation."""

    source: list[Token]
    target: list[Token]
    tokens: list[str]
    steps: list[Step]


class Explained(Reading):
    """A translation, explained. `segments`, `missing`: of source tokens; `added`: of tokens; `language`: if clear."""

    text: str
    language: str | None = None
    missing: list[int] | None = None
    added: list[int] | None = None
    score: float
    source_rarity: float
    segments: list[int]
    n_best: list[Sentence]
    greedy: Sentence
    tree: list[Node]


class Near(Answer):
    """A word in a training pair, and the cosine of its state and that of the word which was asked for."""

    likeness: float
    place: int
    source: list[Token]
    target: list[Token]


class Neighbours(Answer):
    """The nearest first."""

    neighbours: list[Near]


class Run(Answer):
    """A run of training; `changed` is when it last measured something, in Unix time."""

    id: str
    name: str
    changed: float


class RunSettings(Answer):
    """A run's settings by their full names."""

    id: str
    name: str
    config: dict[str, str | bool | None]


class Set(Answer):
    """A test set: how many sentences it has, and whether their gold links are known."""

    id: str
    name: str
    sentences: int
    aligned: bool


class Summary(Answer):
    """A model's scores on a test set. BLEU is null where no reference has four words."""

    bleu: float | None
    chrf: float
    by_length: list[Bucket]
    error_rate: float | None


class Progress(Answer):
    """How many sentences a model has translated, and its scores once these are all."""

    id: str
    done: int
    error: str | None
    summary: Summary | None


class SetProgress(Set):
    """A test set with each model's progress; `lowercase` says whether scores are lower-cased."""

    lowercase: bool
    models: list[Progress]


class Scored(Answer):
    """A model's translations, the scores of each, and how many words are missing and added (null: not counted)."""

    id: str
    hypotheses: list[str]
    bleu: Row
    chrf: Row
    missing: list[int | None]
    added: list[int | None]


class SetSentences(Answer):
    """A test set's sentences with the translations of the models that are done. `lengths` counts words."""

    source: list[str]
    reference: list[str]
    lengths: list[int]
    models: list[Scored]


class Attention(Answer):
    """Where a model looks while it writes the reference, between words."""

    id: str
    weights: Table
    error_rate: float | None


class SetSentence(Answer):
    """The words of a sentence and its reference, and their gold links, pairs of a source and a target word."""

    source: list[str]
    reference: list[str]
    sure: list[tuple[int, int]]
    possible: list[tuple[int, int]]
    models: list[Attention]
