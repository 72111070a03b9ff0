"""What may be set about training: its budget, the optimizer, schedules, when to validate and to save."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from nmt import addons
from nmt.components import LEARNING_RATE_SCHEDULES, OPTIMIZERS, TEACHER_FORCING_SCHEDULES
from nmt.registry import BelowOne, Count, Fraction, PathString, Positive, Section

Threads = Annotated[int, Field(ge=1, le=1024, strict=True)]


class TeacherForcingConfig(Section):
    """How often the decoder reads the reference's previous token, not its own (Bengio et al. 2015, section 2.4).

    `teacher_forcing: 0.5` is short for `teacher_forcing: {ratio: 0.5}`.
    """

    schedule: Annotated[str, TEACHER_FORCING_SCHEDULES] = "constant"
    """How this probability falls during training."""
    if TYPE_CHECKING:
        ratio: float = 1.0
    granularity: Literal["token", "step", "batch"] = "token"
    """What is sampled at once: a token; a time step of all sentences in a batch; a whole batch."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        unused = super().unused(values)
        if values.get("schedule", "constant") == "constant" and values.get("ratio", 1) == 1:
            unused["granularity"] = "with ratio: 1; remove it, or set ratio below 1"
        return unused


def _ratio_alone(value: Any) -> Any:
    return {"ratio": value} if isinstance(value, int | float | str) and not isinstance(value, bool) else value


class ScheduleConfig(Section):
    """How the learning rate changes."""

    kind: Annotated[str, LEARNING_RATE_SCHEDULES] = "constant"
    """The schedule."""
    if TYPE_CHECKING:
        patience: int = 1


class EarlyStoppingConfig(Section):
    """When training ends before its budget does."""

    metric: Literal["bleu", "loss"] = "bleu"
    """The score by which validations are compared: for `patience`, `best.safetensors` and the schedule `plateau`."""
    patience: Count | None = None
    """Training ends after this many validations without a better score. By default never."""


if TYPE_CHECKING:
    GuidedAlignmentConfig = Any
    MinimumRiskConfig = Any
    Trackers = tuple[str, ...] | None
else:  # without the add-on: null alone
    GuidedAlignmentConfig = getattr(addons.offered("align_config"), "GuidedAlignmentConfig", type(None))
    MinimumRiskConfig = getattr(addons.offered("minimum_risk_config"), "MinimumRiskConfig", type(None))
    Trackers = getattr(addons.offered("trackers_config"), "Trackers", None)


class TrainingConfig(Section):
    """How the model is trained."""

    max_epochs: Count | None = 10
    """Training ends after this many epochs. null if `max_updates` alone is set."""
    max_updates: Count | None = None
    """Training ends after this many updates."""
    batch_size: Count = 64
    """The size of a batch (of each process), in `batch_unit`."""
    batch_unit: Literal["sentences", "tokens"] = "sentences"
    """`tokens`: those of the longer side, padding included."""
    accumulate: Count = 1
    """Batches per update."""
    optimizer: Annotated[str, OPTIMIZERS] = "adam"
    """How an update changes the weights."""
    if TYPE_CHECKING:
        learning_rate: float = 1e-3
    schedule: ScheduleConfig = Field(default_factory=ScheduleConfig)
    """How the learning rate changes."""
    label_smoothing: BelowOne = 0.1
    """ε of label smoothing (Szegedy et al. 2016, section 7)."""
    guided_alignment: GuidedAlignmentConfig | None = None
    """Attention also learns from word links (an add-on)."""
    minimum_risk: MinimumRiskConfig | None = None
    """A trained model learns from the scores of its own translations (an add-on)."""
    sampled_softmax: Count | None = None
    """Updates compute the output layer for the batch's target tokens and about this many random ones, frequent ones
    more often (Jean et al. 2015; Botev et al. 2017): faster, but less is learnt. By default for all."""
    clip_norm: Positive | None = 1.0
    """Gradients are scaled down to this norm. null: never."""
    moving_average: Fraction | None = None
    """The decay of an exponential moving average of the weights, which is validated and saved."""
    teacher_forcing: Annotated[TeacherForcingConfig, BeforeValidator(_ratio_alone)] = Field(
        default_factory=TeacherForcingConfig
    )
    """How often the decoder reads the reference."""
    early_stopping: EarlyStoppingConfig = Field(default_factory=EarlyStoppingConfig)
    """When training ends early."""
    validate_every: Count | None = None
    """Updates between validations. By default after each epoch."""
    checkpoint_every: Count | None = None
    """Updates between checkpoints. By default after each validation."""
    log_every: Count = 50
    """Updates between two `train` events of `metrics.jsonl`."""
    trackers: Trackers = None
    """Functions that get the run's events: `MODULE:FUNCTION`, or names of installed ones."""
    start_from: PathString | None = None
    """A checkpoint or `hf://OWNER/NAME` to fine-tune. Its model and tokenizers must be those of this config, except for
    dropout."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """The random seed: initial weights, order of batches, dropout."""
    device: str = "auto"
    """`auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1`, `mps`, …"""
    fast: bool = True
    """Use `nmt.fast`, which makes training faster. `false`: plain PyTorch."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """The precision of matrix products. `bf16`: bfloat16 factors, float32 sums. `auto`: `bf16` on CPUs with AMX or
    AVX512-BF16 and, with global attention or none, on one NVIDIA GPU from Ampere on; else `float32`. A resumed run
    keeps it."""
    threads: Threads | None = None
    """CPU threads. By default PyTorch's choice."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        section, unused = values.get("minimum_risk"), super().unused(values)
        if section is not None and hasattr(MinimumRiskConfig, "unused_beside"):  # the add-on is there
            unused |= MinimumRiskConfig.unused_beside(section)
        return unused

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
        if self.minimum_risk is not None:
            self.minimum_risk.check(self)
        return self
