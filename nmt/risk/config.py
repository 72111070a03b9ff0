"""The config section `training.minimum_risk`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from nmt.registry import NonNegative, Positive, Section


class MinimumRiskConfig(Section):
    """Fine-tuning that lowers the expected cost, 1 − a sentence's score, of sampled translations."""

    estimator: Literal["minimum_risk", "reinforce"] = "minimum_risk"
    """`minimum_risk`: the expected cost over the reference and the distinct samples, with normalised probabilities
    (Shen et al. 2016, section 3). `reinforce`: the gradient of the expected cost over all translations (Ranzato et
    al. 2016, section 3.2.1), with the other samples' mean score as the baseline."""
    samples: Annotated[int, Field(ge=2, le=10_000, strict=True)] = 20
    """Translations sampled for each sentence in each update."""
    alpha: Positive = 0.005
    """With `estimator: minimum_risk`: α of Shen et al., the exponent of the probabilities before normalisation."""
    metric: Literal["bleu", "chrf"] = "bleu"
    """The score. `bleu`: of sentences, with 1 added to the counts of 2-, 3- and 4-grams (Lin and Och 2004)."""
    likelihood: NonNegative = 0.0
    """The factor of the reference's usual loss, summed over its tokens, which is added to a sentence's expected cost
    (Wu et al. 2018)."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        why = "with estimator: reinforce; remove it, or set estimator to minimum_risk"
        return {"alpha": why} if values.get("estimator") == "reinforce" else {}

    @classmethod
    def unused_beside(cls, section: Any) -> dict[str, str | None]:
        """The fields of `training` that have no effect beside this section, a value or what YAML read."""
        why = "with minimum_risk, which reads the model's own translations; remove it, or minimum_risk"
        unused: dict[str, str | None] = dict.fromkeys(("guided_alignment", "sampled_softmax", "teacher_forcing"), why)
        if not (section.get if isinstance(section, dict) else partial(getattr, section))("likelihood", 0):
            unused["label_smoothing"] = "with minimum_risk.likelihood: 0; remove it, or set that above 0"
        return unused

    def check(self, training: Any) -> None:
        """Raise ValueError where training would begin with random weights."""
        if training.start_from is None and self.likelihood == 0:
            fix = "set start_from to a trained model's checkpoint, or minimum_risk.likelihood above 0"
            raise ValueError(f"minimum_risk learns from the model's own translations, so it needs a trained one; {fix}")
