"""The configuration: frozen, typed models, closed to unknown keys. `config_file` makes them of YAML, and back.

Every field but the name has a default that works; `nmt train` prints all of them at the start of a run. A combination
that the mathematics does not allow is refused with both fields named, and the fix.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from nmt.config.model import ModelConfig
from nmt.parts import (
    Count,
    DropoutRate,
    NonNegative,
    Positive,
    Precision,
    Probability,
    SearchPrecision,
    Section,
    Threads,
    filled,
)


class SideConfig(Section):
    """One language of the corpus. `train`, `validation` and `test` are for `corpus: files` alone."""

    language: str = Field(description="ISO 639-1 code: de, en, fr, …")
    tokenizer: Literal["spacy", "sentencepiece", "whitespace", "char"] = "spacy"
    lowercase: bool = True
    vocabulary_size: Count | None = None  # the most frequent types kept; sentencepiece: its pieces, by default 4000
    min_frequency: Count = 1  # types seen less often become <unk>
    subword_model: Literal["unigram", "bpe"] = "unigram"  # sentencepiece alone
    # Of the training text, anew in each epoch; sentencepiece alone, null: always the best. With unigram α of Kudo 2018,
    # section 3.2 (probabilities to the power α), with bpe the share of merges left out (Provilkov et al. 2020).
    subword_sampling: Annotated[float, Field(gt=0, lt=1)] | None = None
    train: str | None = None
    validation: str | None = None
    test: str | None = None
    # Files of more training pairs, such as other models' translations of the corpus. Subwords and vocabulary are learnt
    # from the corpus alone, so that models with and without them read and write the same tokens.
    extra: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _sentencepiece_has_a_size(cls, values: Any) -> Any:
        return filled(values, "tokenizer", "vocabulary_size", {"sentencepiece": 4000})

    @model_validator(mode="after")
    def _only_sentencepiece_samples(self) -> Self:
        if self.subword_sampling is not None and self.tokenizer != "sentencepiece":
            raise ValueError(
                f"subword_sampling ({self.subword_sampling}) needs tokenizer: sentencepiece (here: {self.tokenizer}); "
                "set it, or subword_sampling to null"
            )
        return self


class SourceConfig(SideConfig):
    language: str = "de"


class TargetConfig(SideConfig):
    language: str = "en"


class DataConfig(Section):
    """Which text to learn from, and how it becomes tokens."""

    corpus: Literal["sample", "multi30k", "files"] = "sample"
    folder: str = "data"  # where the sample lies, and where Multi30k and (in cache/) tokens are kept
    mirror: str | None = None  # a folder or URL that holds Multi30k's files; NMT_MULTI30K_MIRROR overrides it
    source: SourceConfig = SourceConfig()
    target: TargetConfig = TargetConfig()
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
        if len(self.source.extra) != len(self.target.extra):
            raise ValueError(
                f"source.extra has {len(self.source.extra)} files and target.extra {len(self.target.extra)}; "
                "set both to as many, whose lines translate each other"
            )
        return self


class TeacherForcingConfig(Section):
    """How often the decoder reads the reference's last token, not its own (Bengio et al. 2015, section 2.4).

    With i the number of updates done: `constant` is ratio; `linear` max(minimum, ratio − decay·i);
    `exponential` max(minimum, ratio·decayⁱ); `inverse_sigmoid` max(minimum, ratio·k / (k + exp(i/k))) with k = decay.
    """

    ratio: Probability = 1.0
    schedule: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = "constant"
    decay: Positive | None = None  # default: 0.0001 linear, 0.9999 exponential, 1000 inverse_sigmoid
    minimum: Probability = 0.0
    granularity: Literal["token", "batch"] = "token"  # what one toss of the coin decides

    @model_validator(mode="before")
    @classmethod
    def _schedule_has_a_decay(cls, values: Any) -> Any:
        defaults = {"linear": 0.0001, "exponential": 0.9999, "inverse_sigmoid": 1000.0}
        return filled(values, "schedule", "decay", defaults)

    @model_validator(mode="after")
    def _decay_fits(self) -> Self:
        if self.minimum > self.ratio:
            raise ValueError(f"minimum ({self.minimum}) is above ratio ({self.ratio}); lower it")
        if self.decay is None:
            return self
        if self.schedule == "constant":
            raise ValueError(f"decay ({self.decay}) has no use with schedule: constant; remove it, or name a schedule")
        low, high = (1, 1e9) if self.schedule == "inverse_sigmoid" else (0, 1)
        if not low < self.decay < high:
            raise ValueError(
                f"schedule: {self.schedule} needs decay between {low} and {high:g} (here: {self.decay}); change it"
            )
        return self


def _ratio_alone(value: Any) -> Any:
    """`teacher_forcing: 0.5` is short for `teacher_forcing: {ratio: 0.5}`."""
    return {"ratio": value} if isinstance(value, int | float | str) and not isinstance(value, bool) else value


class ScheduleConfig(Section):
    """How the learning rate moves.

    `plateau` multiplies it by `factor` after `patience` validations without a better score; `halving` by `factor`
    after each epoch from number `start_epoch` on (Luong et al. 2015, section 4.1: after 5 epochs); `inverse_sqrt`
    falls with the root of the update's number; `cosine` falls to 0 over the whole training, as half a wave does
    (Loshchilov and Hutter 2017, equation 5). Each of them first rises linearly from 0 over `warmup` updates.
    """

    kind: Literal["constant", "plateau", "halving", "inverse_sqrt", "cosine"] = "constant"
    warmup: Annotated[int, Field(ge=0)] = 0  # in updates; by default 1000 with inverse_sqrt
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    patience: Count = 1
    start_epoch: Count = 5

    @model_validator(mode="before")
    @classmethod
    def _inverse_sqrt_warms_up(cls, values: Any) -> Any:
        return filled(values, "kind", "warmup", {"inverse_sqrt": 1000})

    @model_validator(mode="after")
    def _warmup_fits(self) -> Self:
        if self.kind == "inverse_sqrt" and self.warmup == 0:
            raise ValueError("kind: inverse_sqrt needs warmup above 0; set it, for example to 1000")
        return self


class EarlyStoppingConfig(Section):
    metric: Literal["bleu", "loss"] = "bleu"  # also decides which checkpoint is the best, and what a plateau is
    patience: Count | None = None  # validations without a better score; null: never


class TrainingConfig(Section):
    max_epochs: Count | None = 10  # null if max_updates alone is set
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
    # The weights' exponential moving average, which is validated and kept in their place; null: the weights themselves
    moving_average: Annotated[float, Field(gt=0, lt=1)] | None = None
    teacher_forcing: Annotated[TeacherForcingConfig, BeforeValidator(_ratio_alone)] = TeacherForcingConfig()
    early_stopping: EarlyStoppingConfig = EarlyStoppingConfig()
    validate_every: Count | None = None  # in updates; null: after each epoch
    checkpoint_every: Count | None = None  # in updates; null: after each validation
    log_every: Count = 50  # in updates
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    device: str = "auto"  # auto, cpu, cuda, cuda:1, …
    precision: Precision = "float32"  # of updates
    threads: Threads | None = None  # null: as many as torch chooses

    @model_validator(mode="before")
    @classmethod
    def _updates_alone_are_enough(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("max_updates") is not None and "max_epochs" not in values:
            return {**values, "max_epochs": None}
        return values

    @model_validator(mode="after")
    def _it_ends(self) -> Self:
        if self.max_epochs is None and self.max_updates is None:
            raise ValueError("max_epochs and max_updates are both null, so training would never end; set one")
        return self


class SearchConfig(Section):
    beam_size: Count = 5  # 1: greedy search
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 1.0  # α of Wu et al. 2016, equation 14; 0: none
    max_length: Count = 100  # target tokens
    max_source_length: Count = 500  # source tokens; longer sentences are cut there, with a message on standard error
    batch_size: Count = 64  # sentences
    precision: SearchPrecision = "float32"


class EvaluationConfig(Section):
    split: str | None = None  # that a finished run is scored on; null: test, or validation where there is no test
    length_edges: tuple[Count, ...] = (10, 20, 30, 40, 50)  # upper ends of the source length buckets, in spaCy tokens

    @model_validator(mode="after")
    def _edges_increase(self) -> Self:
        if list(self.length_edges) != sorted(set(self.length_edges)):
            raise ValueError(f"length_edges {list(self.length_edges)} must increase; sort them, each once")
        return self


class Config(Section):
    """The whole configuration of a run, which lives in `output_dir/name/`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100, coerce_numbers_to_str=True)]
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
