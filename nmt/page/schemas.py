"""What the server's answers look like, for the OpenAPI document."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Row = list[float]
Table = list[list[float]]


class Answer(BaseModel):
    """Nothing but these fields; those with a default may be missing."""

    model_config = ConfigDict(extra="forbid")


class Refused(Answer):
    """Why a question is not answered."""

    error: str


class Model(Answer):
    """A model: its languages, how it searches, how much it reads, and what else it can be asked for.

    A text is unlike what it was trained on if the mean log-probability of its translation's tokens is below
    `unlike_below`, in nats, as `nmt calibrate` has found.
    """

    id: str
    name: str
    source_language: str
    target_language: str
    attention: bool
    neighbours: bool
    beam_size: int
    length_penalty: float
    max_length: int
    max_source_length: int
    unlike_below: float | None
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


class Translated(Sentence):
    """`attention` has a row for each token, with its weight on each source token."""

    source_tokens: list[str]
    attention: Table | None


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
    """A translation with all that led to it. `segments` are the numbers of the source tokens' sentences."""

    text: str
    score: float
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


class OfLength(Answer):
    """BLEU of the sentences of `low` to `high` words, with its 95 % interval; without sentences null."""

    low: int
    high: int | None
    count: int
    bleu: float | None
    ci_low: float | None
    ci_high: float | None


class Summary(Answer):
    """A model's scores on a test set."""

    bleu: float
    chrf: float
    by_length: list[OfLength]
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
    """A model's translations, and the scores of each."""

    id: str
    hypotheses: list[str]
    bleu: Row
    chrf: Row


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
