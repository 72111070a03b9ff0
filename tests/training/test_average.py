"""The moving average of weights, by hand."""

import pytest
import torch

from nmt.training.train_state import MovingAverage


def test_untrained_weights_are_soon_forgotten_and_then_the_decay_counts() -> None:
    model = torch.nn.Linear(1, 1, bias=False).requires_grad_(False)
    model.weight.fill_(4)
    average = MovingAverage(model, decay=0.5)
    model.weight.fill_(15)
    average.update(1)  # (1 + 1) / (10 + 1) of it is kept
    assert average.model.weight.item() == pytest.approx(4 * 2 / 11 + 15 * 9 / 11)
    average.update(6)  # 7 / 16
    assert average.model.weight.item() == pytest.approx((4 * 2 / 11 + 15 * 9 / 11) * 7 / 16 + 15 * 9 / 16)
    model.weight.fill_(0)
    before = average.model.weight.item()
    average.update(1000)
    assert average.model.weight.item() == pytest.approx(before / 2)
