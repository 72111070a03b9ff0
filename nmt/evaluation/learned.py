"""Scores that are models themselves, each by its own package, which is not installed with nmt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from nmt.system.errors import UserError

COMET_MODEL = "Unbabel/wmt22-comet-da"
PACKAGES = {"comet": ("COMET", "unbabel-comet", "comet"), "bertscore": ("BERTScore", "bert-score", "bert_score")}


@dataclass(frozen=True)
class LearnedScore:
    """A mean over all sentences, as its package gives it (about 0 to 1), with the versions that define it."""

    name: str
    score: float
    signature: str


def check_installed(metric: str) -> None:
    """Raise `UserError`, with the command to install it, unless the package of a metric is installed."""
    name, package, module = PACKAGES[metric]
    if find_spec(module) is None:
        raise UserError(f"--metric {metric}: {name} is not installed: run pip install {package}")


def learned_score(
    metric: str, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], language: str
) -> LearnedScore:
    """The score of translations into a language: COMET (Rei et al. 2020) or BERTScore's F1 (Zhang et al. 2020).

    Raises `UserError` if the package is missing, or fails, as it does if it cannot download its model.
    """
    check_installed(metric)
    name, package, module = PACKAGES[metric]
    try:
        scorer: Any = import_module(module)
        if metric == "comet":
            from torch import cuda

            texts = zip(sources, hypotheses, references, strict=True)
            data = [dict(zip(("src", "mt", "ref"), text, strict=True)) for text in texts]
            model, gpus = scorer.load_from_checkpoint(scorer.download_model(COMET_MODEL)), int(cuda.is_available())
            result = model.predict(data, batch_size=32, gpus=gpus, progress_bar=False).system_score
            detail = COMET_MODEL
        else:
            (_, _, f1), detail = scorer.score(list(hypotheses), list(references), lang=language, return_hash=True)
            result = f1.mean()
        return LearnedScore(name, float(result), f"{package} {version(package)}, {detail}")
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"--metric {metric}: {name} failed ({reason}): repair its installation, or omit it") from None
