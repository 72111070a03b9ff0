"""Guided alignment: its loss by the formula, its gradients in fast and plain training, and links of a file."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from support.tiny_models import VARIANTS, Variant, parametrised, tiny_model

from nmt.align.config import GuidedAlignmentConfig
from nmt.data.batching import Example, collate
from nmt.fast import accelerate
from nmt.model.attention import Alignment
from nmt.training.loss import BatchLoss

LINKS = [np.array([[0, 0], [1, 0], [2, 1], [3, 1], [1, 2]]), np.array([[0, 1]])]
BATCH = collate(
    [Example([5, 6, 7, 4], [4, 5, 6], LINKS[0]), Example([4, 4], [7, 8], LINKS[1]), Example([6], [4], None)]
)
GUIDED = GuidedAlignmentConfig(weight=0.5)
ATTENTIVE = [variant for variant in VARIANTS if variant.wiring != "none"]


def test_a_batch_has_the_share_of_each_link() -> None:
    expected = torch.zeros(
        3, 4, 5
    )  # each target position's links share 1; padding, <eos> and other positions have none
    expected[0, 0, :2] = expected[0, 1, 2:4] = 0.5
    expected[0, 2, 1] = expected[1, 1, 0] = 1
    assert BATCH.links is not None
    assert BATCH.links.equal(expected)
    assert collate([Example([5], [5])]).links is None


def test_the_loss_is_the_cross_entropy_of_the_links() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.0, 0.2, 0.8]]])
    links = torch.tensor([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]])
    expected = -0.5 * (0.5 * np.log(0.5) + 0.5 * np.log(0.25))  # the weight 0 of the second row is not seen
    assert GUIDED.loss(Alignment(weights, None), links).item() == pytest.approx(expected)
    window = Alignment(weights[:, :, :2], torch.tensor([[[1, 2], [2, 3]]]))  # position 3 is behind the source's end
    assert GUIDED.loss(window, links).item() == pytest.approx(-0.5 * 0.5 * np.log(0.5))


@pytest.mark.parametrize("variant", **parametrised(ATTENTIVE))
def test_every_attention_learns_from_links(variant: Variant) -> None:
    """The fast modules' gradients are those of the plain model, and differ from those without links."""
    model = tiny_model(variant)
    gradients = []
    for guidance, fast in ((GUIDED.loss, False), (GUIDED.loss, True), (None, False)):
        losses = BatchLoss(deepcopy(model), 0.1, guidance)
        if fast:
            accelerate(losses, "float32")
        losses(BATCH).smoothed.backward()
        gradients.append([p.grad if p.grad is not None else torch.zeros_like(p) for p in losses.parameters()])
    plain, of_fast, without = gradients
    torch.testing.assert_close(of_fast, plain, rtol=1e-6, atol=1e-8)
    assert any(not one.allclose(other, atol=1e-6) for one, other in zip(plain, without, strict=True))
