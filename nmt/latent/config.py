"""The config section `model.attention.latent`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from nmt.registry import NonNegative, Section, spelled

# Fields of `model.attention`, with the one value that fits.
NEEDED = {"wiring": "luong", "scope": "global", "normalizer": "softmax", "heads": 1} | dict.fromkeys(
    ("input_feeding", "hard", "key_value", "projected", "coverage"), False
)


class LatentConfig(Section):
    """The source position of a target token is a latent variable: p(y) = Σ_s α_s p(y | v_s) (Deng et al. 2018).

    Search, scores and validation sum over all positions. Where training samples them, it reports an estimate.
    """

    estimator: Literal["exact", "variational", "reinforce"] = "exact"
    """What training maximises. `exact`: log p(y). `variational`: its lower bound (ELBO) with an inference network that
    guesses the position from the source and the whole target. `reinforce`: its lower bound with α, from sampled
    positions (Xu et al. 2015, section 4.1)."""
    samples: Annotated[int, Field(ge=1, le=1000, strict=True)] | None = None
    """With `estimator: reinforce` or `variational`: positions sampled for each target token. By default 1 with
    `reinforce`; `variational` sums over all of them."""
    entropy: NonNegative = 0.0
    """With `estimator: reinforce`: the factor of α's entropy, which is added to what training maximises."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        estimator = values.get("estimator", "exact")
        why = f"with estimator: {estimator}; remove it, or set estimator to reinforce"
        unused: dict[str, str | None] = {} if estimator == "reinforce" else {"entropy": why}
        return unused | ({"samples": f"{why} or variational"} if estimator == "exact" else {})

    def check(self, attention: Any) -> None:
        """Raise ValueError for a section `model.attention` that does not fit."""
        wrong = [field for field, value in NEEDED.items() if getattr(attention, field) != value]
        if wrong:
            here = ", ".join(f"{field}: {spelled(getattr(attention, field))}" for field in wrong)
            fix = ", ".join(f"set {field} to {spelled(NEEDED[field])}" for field in wrong)
            raise ValueError(f"{here} with latent, which mixes the distributions of positions; {fix}, or remove latent")
        if attention.monotonic is not None:
            raise ValueError("monotonic with latent: each makes the weights in its own way; remove one of them")

    def check_training(self, training: Any) -> None:
        """Raise ValueError for a section `training` that does not fit."""
        where, forcing = "with model.attention.latent", training.teacher_forcing
        if training.sampled_softmax is not None:
            raise ValueError(f"training.sampled_softmax {where}, which needs the whole vocabulary; remove one of them")
        where, is_exact = f"{where}.estimator: {self.estimator}", self.estimator == "exact"
        if training.minimum_risk is not None and not is_exact:
            raise ValueError(f"training.minimum_risk {where}: each is a loss; remove it, or set estimator to exact")
        if (forcing.schedule != "constant" or forcing.ratio < 1) and not is_exact:
            raise ValueError(f"training.teacher_forcing {where}, which reads the reference; set teacher_forcing to 1")
