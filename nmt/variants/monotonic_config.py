"""The config section `model.attention.monotonic`, and the field `model.attention.fertility`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from nmt.registry import Count, NonNegative, Positive, Section, spelled

Fertility = Positive


class MonotonicConfig(Section):
    """Attention that moves through the source from left to right (Raffel et al. 2017).

    At each step it stops at one position, where the last step has stopped or behind it, and reads there. Training
    computes with the probabilities of all stops. Search and scoring stop at the first position with at least ½.
    """

    chunk: Count = 1
    """How many positions are read, up to that of the stop: with 2 or more by a softmax over them, of a second score
    (MoChA, Chiu and Raffel 2018)."""
    noise: NonNegative = 1.0
    """The standard deviation of noise that is added to scores in training, so that probabilities become 0 or 1."""
    bias: Annotated[float, Field(ge=-100, le=100)] = -1.0
    """What is added to the scores, before training. The lower it is, the further attention moves in a step."""

    @classmethod
    def unused_beside(cls) -> dict[str, str | None]:
        """The fields of `model.attention` that have no effect beside this section."""
        why = "with monotonic, which makes the weights itself; remove it, or monotonic"
        return dict.fromkeys(("normalizer", "hard", "coverage", "fertility"), why)

    def check(self, attention: Any) -> None:
        """Raise ValueError for a section `attention` that does not fit."""
        for field, value in (("scope", "global"), ("heads", 1), ("projected", False)):
            if (here := getattr(attention, field)) != value:
                why = "with monotonic, which has one head and sees all"
                raise ValueError(f"{field}: {spelled(here)} {why}; set it to {spelled(value)}")

    def check_training(self, training: Any) -> None:
        """Raise ValueError for a section `training` that does not fit."""
        if training.minimum_risk is not None:
            why = "samples come from hard stops, and training would score them with expected ones"
            raise ValueError(f"training.minimum_risk with model.attention.monotonic: {why}; remove one of them")
