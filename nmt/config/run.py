"""The whole configuration of a run: frozen, typed sections, closed to unknown keys.

Every field but the name has a default that works. A combination that is impossible, and a field that has no effect, is
refused with the fields named, and the fix. `nmt.config.reading` makes configurations of YAML, and back.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from nmt.config.data import DataConfig
from nmt.config.model import ModelConfig
from nmt.config.search import EvaluationConfig, SearchConfig
from nmt.config.training import TrainingConfig
from nmt.registry import PathString, Section

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class Config(Section):
    """The configuration of a run."""

    name: Annotated[str, Field(pattern=NAME, max_length=100)]
    """The run's name. Its folder is `output_dir/name`; a run never overwrites another."""
    output_dir: PathString = "checkpoints"
    """Where the run's folder is created."""
    data: DataConfig = Field(default_factory=DataConfig)
    """The corpus and its tokens."""
    model: ModelConfig = Field(default_factory=ModelConfig)
    """The model."""
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    """The training."""
    search: SearchConfig = Field(default_factory=SearchConfig)
    """The search for translations."""
    evaluation: EvaluationConfig = Field(default_factory=EvaluationConfig)
    """The evaluation of a finished run."""
    plugins: tuple[PathString, ...] = ()
    """Python files that define components, such as a score; paths are relative to the config's folder. They are run
    when the config is read."""

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        if self.model.tied_embeddings == "all" and not self.data.joint_vocabulary:
            raise ValueError("model.tied_embeddings: all needs data.joint_vocabulary: true; set it, or choose target")
        self.search.check(self.model)
        for section in (self.model.attention.latent, self.model.attention.monotonic):
            if section is not None:
                section.check_training(self.training)
        return self
