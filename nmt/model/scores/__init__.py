"""How well a query fits a source position. Each score is one class in one file, which the config names."""

from nmt.model.scores.base import Score
from nmt.registry import registry

SCORES = registry(__name__, Score)

__all__ = ["SCORES", "Score"]
