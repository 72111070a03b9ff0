"""The log-probabilities of given translations, against the loss of training."""

import pytest
import torch
from support.losses import batch_loss
from support.tiny_models import SOURCES, WIRINGS, parametrised, tiny_model

from nmt.data.batching import Example, collate
from nmt.decoding.scoring import score

TARGETS = [[4, 5, 6], [], [6], [5, 5, 5, 5, 4]]
PAIRS = [Example([*source], TARGETS[number % len(TARGETS)]) for number, source in enumerate(SOURCES)]


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_they_sum_up_to_the_loss_in_any_batch(variant) -> None:
    model = tiny_model(variant)
    found = score(model, PAIRS, 3)
    assert [each.tokens for each in found] == [len(pair.target) + 1 for pair in PAIRS]
    for pair, each in zip(PAIRS, found, strict=True):
        with torch.no_grad():
            loss, _ = batch_loss(model.eval(), collate([pair]), smoothing=0.0)
        assert each.log_probability == pytest.approx(-loss.item(), abs=1e-5)
    assert [each.log_probability for each in score(model.train(), PAIRS, 1)] == pytest.approx(
        [each.log_probability for each in found], abs=1e-5
    )
    assert model.training  # as it was before
