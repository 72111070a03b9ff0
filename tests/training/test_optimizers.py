"""Each optimizer's steps against the equations of its paper, in NumPy."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from nmt.components import OPTIMIZERS
from nmt.config.training import TrainingConfig
from nmt.training.update import moments_of

GRADIENTS = np.random.default_rng(1).normal(size=(6, 2, 3))
START = np.linspace(-1, 1, 6).reshape(2, 3)


def adam(learning_rate: float = 1e-3, weight_decay: float = 0.0, *, decoupled: bool = False) -> Iterator[np.ndarray]:
    """Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2: weight decay not in the gradient."""
    weights, mean, square = START, 0.0, 0.0
    for t, gradient in enumerate(GRADIENTS, start=1):
        decay = weight_decay * weights
        whole = gradient if decoupled else gradient + decay
        mean, square = 0.9 * mean + 0.1 * whole, 0.999 * square + 0.001 * whole**2
        step = (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        weights = weights - learning_rate * (step + (decay if decoupled else 0))
        yield weights


def sgd(learning_rate: float = 1.0, weight_decay: float = 0.0, momentum: float = 0.0) -> Iterator[np.ndarray]:
    weights, step = START, 0.0
    for gradient in GRADIENTS:
        step = momentum * step + gradient + weight_decay * weights
        weights = weights - learning_rate * step
        yield weights


def adadelta(
    learning_rate: float = 1.0, weight_decay: float = 0.0, rho: float = 0.95, epsilon: float = 1e-6
) -> Iterator[np.ndarray]:
    """Zeiler 2012, algorithm 1."""
    weights, gradients, steps = START, 0.0, 0.0
    for gradient in GRADIENTS:
        whole = gradient + weight_decay * weights
        gradients = rho * gradients + (1 - rho) * whole**2
        step = -np.sqrt(steps + epsilon) / np.sqrt(gradients + epsilon) * whole
        steps = rho * steps + (1 - rho) * step**2
        weights = weights + learning_rate * step
        yield weights


EQUATIONS = {"adam": adam, "adamw": partial(adam, decoupled=True), "sgd": sgd, "adadelta": adadelta}
assert OPTIMIZERS.keys() == EQUATIONS.keys()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sgd", {}),
        *((name, {"learning_rate": 0.25, "weight_decay": 0.5}) for name in EQUATIONS),
        ("sgd", {"learning_rate": 0.25, "momentum": 0.75, "weight_decay": 0.5}),
        ("adadelta", {"rho": 0.6, "epsilon": 0.01}),
    ],
    ids=str,
)
def test_steps_are_those_of_the_paper(name: str, options: dict[str, Any]) -> None:
    part = TrainingConfig.model_validate({"optimizer": name, **options}).component("optimizer")
    weights = nn.Parameter(torch.from_numpy(START.copy()))
    optimizer = part.of([weights])
    for gradient, expected in zip(GRADIENTS, EQUATIONS[name](**options), strict=True):
        weights.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        np.testing.assert_allclose(weights.detach().numpy(), expected, rtol=1e-6)
    assert tuple(optimizer.state[weights]) == moments_of(part)  # what a checkpoint keeps
