"""Gradients against finite differences of the same objective."""

import pytest
import torch

from support.attention_cases import draw


def assert_gradients_are_those_of_finite_differences(gradients, inputs, objective, insensitive=()):
    """Each input is moved along a random direction, in which every entry of its gradient takes part.

    The gradient is 0 for insensitive inputs, and for no other.
    """
    step = 1e-6
    for number, ((name, tensor), gradient) in enumerate(zip(inputs.items(), gradients, strict=True)):
        is_zero = gradient.abs().max() < (1e-12 if name in insensitive else 1e-4)
        assert is_zero == (name in insensitive), name
        direction, old = draw(*tensor.shape, seed=20 + number), tensor.detach().clone()
        values = []
        for side in (1, -1):
            with torch.no_grad():
                tensor.copy_(old + side * step * direction)
                values.append(objective().item())
        with torch.no_grad():
            tensor.copy_(old)
        expected = (values[0] - values[1]) / (2 * step)
        assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-5, abs=1e-6), name
