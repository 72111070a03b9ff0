"""How an update changes the weights. Each optimizer is one class in one file, which `training.optimizer` names."""

from nmt.optimizers.base import Optimizer
from nmt.registry import family

OPTIMIZERS = family(__name__, Optimizer)

__all__ = ["OPTIMIZERS", "Optimizer"]
