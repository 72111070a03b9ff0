"""Scores that are models themselves, each by its own package, which is not installed with nmt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    name, package, _ = PACKAGES[metric]
    compute = {"comet": _comet, "bertscore": _bertscore}[metric]
    try:
        score, detail = compute(list(sources), list(hypotheses), list(references), language)
        return LearnedScore(name, score, f"{package} {version(package)}, {detail}")
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"--metric {metric}: {name} failed ({reason}): repair its installation, or omit it") from None


def _comet(sources: list[str], hypotheses: list[str], references: list[str], _: str) -> tuple[float, str]:
    import comet
    import torch

    model: Any = comet.load_from_checkpoint(comet.download_model(COMET_MODEL))
    triples = zip(sources, hypotheses, references, strict=True)
    data = [{"src": source, "mt": hypothesis, "ref": reference} for source, hypothesis, reference in triples]
    gpus = 1 if torch.cuda.is_available() else 0
    return float(model.predict(data, batch_size=32, gpus=gpus, progress_bar=False).system_score), COMET_MODEL


def _bertscore(_: list[str], hypotheses: list[str], references: list[str], language: str) -> tuple[float, str]:
    import bert_score

    (_, _, f1), detail = bert_score.score(hypotheses, references, lang=language, return_hash=True)
    return float(f1.mean()), str(detail)
