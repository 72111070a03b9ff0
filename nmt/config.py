"""The configuration: YAML text → frozen, typed, closed models, validated once, before anything is loaded or written.

Every field has a default that works; `nmt train` prints all of them at the start of a run. An unknown key, a value of
the wrong type or a combination that the mathematics does not allow is a `UserError` that names the fields and the fix.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from nmt.errors import UserError

Count = Annotated[int, Field(ge=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
DropoutRate = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Section(BaseModel):
    """A part of the configuration: immutable, and closed to keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SideConfig(Section):
    """One language of the corpus. The three paths are for `corpus: files` alone."""

    language: str = Field(description="ISO 639-1 code: de, en, fr, …")
    tokenizer: Literal["spacy", "sentencepiece", "whitespace", "char"] = "spacy"
    lowercase: bool = True
    vocabulary_size: Count | None = None  # the most frequent types kept; sentencepiece: the number of pieces
    min_frequency: Count = 1  # types seen less often become <unk>
    subword_model: Literal["unigram", "bpe"] = "unigram"  # sentencepiece alone
    train: str | None = None
    validation: str | None = None
    test: str | None = None

    @model_validator(mode="after")
    def _sentencepiece_needs_a_size(self) -> Self:
        if self.tokenizer == "sentencepiece" and self.vocabulary_size is None:
            raise ValueError("tokenizer: sentencepiece needs vocabulary_size; set it, for example to 4000")
        return self


class DataConfig(Section):
    """Which text to learn from, and how it becomes tokens."""

    corpus: Literal["sample", "multi30k", "files"] = "sample"
    folder: str = "data"  # where the sample lies and Multi30k is kept
    mirror: str | None = None  # a folder or URL that holds Multi30k's files; NMT_MULTI30K_MIRROR overrides it
    source: SideConfig = SideConfig(language="de")
    target: SideConfig = SideConfig(language="en")
    joint_vocabulary: bool = False  # one vocabulary (and one sentencepiece model) over both sides
    max_length: Count = 100  # training pairs with more tokens on a side are skipped, and counted

    @model_validator(mode="after")
    def _sides_fit(self) -> Self:
        if self.joint_vocabulary:
            for field in ("tokenizer", "lowercase", "vocabulary_size", "min_frequency", "subword_model"):
                source, target = getattr(self.source, field), getattr(self.target, field)
                if source != target:
                    raise ValueError(
                        f"joint_vocabulary: true needs source.{field} ({source}) and target.{field} ({target}) alike; "
                        "set both to one value, or joint_vocabulary to false"
                    )
        for name, side in (("source", self.source), ("target", self.target)):
            for split in ("train", "validation", "test"):
                path = getattr(side, split)
                if self.corpus != "files" and path is not None:
                    raise ValueError(
                        f"{name}.{split} is a file but corpus is {self.corpus}; set corpus to files, or remove it"
                    )
                if self.corpus == "files" and path is None and split != "test":
                    raise ValueError(f"corpus: files needs {name}.{split}; set it to the path of a text file")
        if (self.source.test is None) != (self.target.test is None):
            raise ValueError("source.test and target.test go together; set both, or none")
        return self


class AttentionConfig(Section):
    """The three axes of attention: when it is asked, how positions are scored, how far it sees."""

    wiring: Literal["bahdanau", "luong", "none"] = "bahdanau"
    score: Literal["additive", "concat", "general", "dot"] = "additive"
    scope: Literal["global", "local_p"] = "global"
    window: Count = 10  # D, in source positions to each side; local scopes alone
    size: Count | None = None  # A of additive and concat; default: the decoder's hidden size
    input_feeding: bool = True  # wiring luong alone


class EncoderConfig(Section):
    hidden_size: Count = 256  # in each direction, so that a memory vector has M = 2 × hidden_size
    layers: Count = 1
    dropout: DropoutRate = 0.3  # between layers and on the memory


class DecoderConfig(Section):
    hidden_size: Count = 256
    layers: Count = 1
    dropout: DropoutRate = 0.3  # between layers and before the output layer


class ModelConfig(Section):
    embedding_size: Count = 256
    embedding_dropout: DropoutRate = 0.3
    tied_embeddings: Literal["none", "target", "all"] = (
        "none"  # target: decoder's input and output; all: the source's too
    )
    encoder: EncoderConfig = EncoderConfig()
    decoder: DecoderConfig = DecoderConfig()
    attention: AttentionConfig = AttentionConfig()

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        hidden, memory = self.decoder.hidden_size, 2 * self.encoder.hidden_size
        if self.attention.wiring != "none" and self.attention.score == "dot" and hidden != memory:
            raise ValueError(
                f"attention.score: dot needs decoder.hidden_size ({hidden}) = 2 × encoder.hidden_size ({memory}); "
                f"set decoder.hidden_size to {memory}, or attention.score to general"
            )
        if self.tied_embeddings != "none" and self.attention.wiring == "luong" and hidden != self.embedding_size:
            raise ValueError(
                f"tied_embeddings: {self.tied_embeddings} with attention.wiring: luong needs embedding_size "
                f"({self.embedding_size}) = decoder.hidden_size ({hidden}); set them alike, or tied_embeddings to none"
            )
        return self


class TeacherForcingConfig(Section):
    """How often the decoder reads the reference's last token, not its own (Bengio et al. 2015, section 2.4).

    With i the number of updates done: `constant` is ratio; `linear` max(minimum, ratio − decay·i);
    `exponential` max(minimum, ratio·decayⁱ); `inverse_sigmoid` max(minimum, ratio·k / (k + exp(i/k))) with k = decay.
    """

    ratio: Probability = 1.0
    schedule: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = "constant"
    decay: Positive | None = None
    minimum: Probability = 0.0
    granularity: Literal["token", "batch"] = "token"  # what one toss of the coin decides

    @model_validator(mode="after")
    def _decay_fits(self) -> Self:
        ranges = {"linear": (0, 1, "0.0001"), "exponential": (0, 1, "0.9999"), "inverse_sigmoid": (1, 1e9, "1000")}
        if self.schedule == "constant":
            if self.decay is not None:
                raise ValueError(
                    f"decay ({self.decay}) has no use with schedule: constant; remove it, or name a schedule"
                )
            return self
        low, high, example = ranges[self.schedule]
        if self.decay is None or not low < self.decay < high:
            raise ValueError(
                f"schedule: {self.schedule} needs decay between {low} and {high:g} (here: {self.decay}); "
                f"set it, for example to {example}"
            )
        if self.minimum > self.ratio:
            raise ValueError(f"minimum ({self.minimum}) is above ratio ({self.ratio}); lower it")
        return self


def _ratio_alone(value: Any) -> Any:
    """`teacher_forcing: 0.5` is short for `teacher_forcing: {ratio: 0.5}`."""
    return {"ratio": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class ScheduleConfig(Section):
    """How the learning rate moves.

    `plateau` multiplies it by `factor` after `patience` validations without a better score; `halving` by `factor`
    after each epoch from `start_epoch` on (Luong et al. 2015, section 4.1); `inverse_sqrt` falls with the root of the
    update's number. Each of them first rises linearly from 0 over `warmup` updates.
    """

    kind: Literal["constant", "plateau", "halving", "inverse_sqrt"] = "constant"
    warmup: Annotated[int, Field(ge=0)] = 0
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    patience: Count = 1
    start_epoch: Count = 6

    @model_validator(mode="after")
    def _warmup_is_set(self) -> Self:
        if self.kind == "inverse_sqrt" and self.warmup == 0:
            raise ValueError("kind: inverse_sqrt needs warmup; set it, for example to 1000")
        return self


class EarlyStoppingConfig(Section):
    metric: Literal["bleu", "loss"] = "bleu"  # also decides which checkpoint is the best, and what a plateau is
    patience: Count | None = None  # validations without a better score; null: never


class TrainingConfig(Section):
    max_epochs: Count | None = 10
    max_updates: Count | None = None
    batch_size: Count = 64
    batch_unit: Literal["sentences", "tokens"] = "sentences"  # tokens: of the longer side, padding counted
    accumulate: Count = 1  # batches an update
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    schedule: ScheduleConfig = ScheduleConfig()
    label_smoothing: DropoutRate = 0.1
    clip_norm: Positive | None = 1.0
    teacher_forcing: Annotated[TeacherForcingConfig, BeforeValidator(_ratio_alone)] = TeacherForcingConfig()
    early_stopping: EarlyStoppingConfig = EarlyStoppingConfig()
    validate_every: Count | None = None  # in updates; null: after each epoch
    checkpoint_every: Count | None = None  # in updates; null: after each validation
    log_every: Count = 50  # in updates
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    device: str = "auto"  # auto, cpu, cuda, cuda:1, …
    threads: Count | None = None  # null: as many as torch chooses

    @model_validator(mode="after")
    def _it_ends(self) -> Self:
        if self.max_epochs is None and self.max_updates is None:
            raise ValueError("max_epochs and max_updates are both null, so training would never end; set one")
        return self


class SearchConfig(Section):
    beam_size: Count = 5  # 1: greedy search
    length_penalty: NonNegative = 1.0  # α of Wu et al. 2016, equation 14; 0: none
    max_length: Count = 100  # target tokens
    batch_size: Count = 64  # sentences


class EvaluationConfig(Section):
    length_edges: tuple[Count, ...] = (10, 20, 30, 40, 50)  # upper ends of the source length buckets, in spaCy tokens


class Config(Section):
    """The whole configuration of a run, which lives in `output_dir/name/`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    output_dir: str = "checkpoints"
    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _tying_fits_vocabulary(self) -> Self:
        if self.model.tied_embeddings == "all" and not self.data.joint_vocabulary:
            raise ValueError(
                "model.tied_embeddings: all needs data.joint_vocabulary: true; set it, or tied_embeddings to target"
            )
        return self


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a YAML file, apply `a.b=VALUE` overrides (VALUE is YAML) in their order, and validate the result.

    Raises `UserError` for a file that cannot be read, YAML that cannot be parsed, and all that validation refuses.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(
            f"{path}: cannot read the config: {reason}; name a YAML file, such as those in configs/"
        ) from None
    values = _parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise UserError(f"{path}: the config must be a mapping of fields to values, such as 'name: my-run'")
    for override in overrides:
        _apply(override, values)
    return parse_config(values, str(path))


def parse_config(values: dict[str, Any], origin: str) -> Config:
    """Validate plain values; `origin` (a file's name) begins the message of the `UserError` raised for bad ones."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{origin}: " + "; ".join(_explain(e) for e in error.errors())) from None


def override_search(search: SearchConfig, **options: int | float | None) -> SearchConfig:
    """The settings with those options that are not None in their place. Raises `UserError` for a bad value."""
    try:
        return SearchConfig.model_validate(search.model_dump() | {k: v for k, v in options.items() if v is not None})
    except ValidationError as error:
        raise UserError("; ".join(_explain(e) for e in error.errors())) from None


def to_yaml(config: Config) -> str:
    """The whole configuration, defaults included, as YAML that `load_config` reads back to an equal value."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _parse_yaml(text: str, origin: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise UserError(f"{origin}: {where}not valid YAML: {getattr(error, 'problem', None) or error}") from None


def _apply(override: str, values: dict[str, Any]) -> None:
    key, equals, text = override.partition("=")
    if not equals or not all(key.split(".")):
        raise UserError(f"--set {override}: expected FIELD=VALUE, such as model.attention.wiring=luong")
    *parents, last = key.split(".")
    for depth, parent in enumerate(parents):
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise UserError(f"--set {override}: {'.'.join(parents[: depth + 1])} is a value, not a section")
    values[last] = _parse_yaml(text, f"--set {override}")


def _explain(error: Any) -> str:
    """One of pydantic's errors in our words: the field's dotted name, what is wrong, what to do."""
    path = [str(part) for part in error["loc"]]
    field = ".".join(path)
    match error["type"]:
        case "extra_forbidden":
            known = list(_section_at(path[:-1]).model_fields)
            near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else "known fields: " + ", ".join(known)
            return f"{field}: unknown field; {hint}"
        case "missing":
            return f"{field}: missing; set it"
        case "value_error":
            return (f"{field}: " if field else "") + str(error["ctx"]["error"])
        case _:
            message = error["msg"][0].lower() + error["msg"][1:]
            return f"{field}: {message} (here: {error['input']!r})"


def _section_at(path: Sequence[str]) -> type[Section]:
    section: type[Section] = Config
    for part in path:
        section = next(_sections_in(section.model_fields[part].annotation))
    return section


def _sections_in(annotation: Any) -> Iterator[type[Section]]:
    if (
        isinstance(annotation, type)
        and not isinstance(annotation, types.GenericAlias)
        and issubclass(annotation, Section)
    ):
        yield annotation
    elif get_origin(annotation) is not None:
        for argument in get_args(annotation):
            yield from _sections_in(argument)
