import pytest
import torch

from nmt.fast.modules import dropout


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_rate_and_mean_are_kept_the_gradient_has_the_same_mask_and_the_seed_decides(rate):
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        ones = torch.ones(1001, 999, requires_grad=True)
        masks.append(dropout(ones, rate))
    kept, spread = masks[2], (rate * (1 - rate) / ones.numel()) ** 0.5
    assert (kept == 0).float().mean().item() == pytest.approx(rate, abs=5 * spread)
    assert kept.mean().item() == pytest.approx(1, abs=5 * spread / (1 - rate))
    assert kept.unique().tolist() == pytest.approx([0, 1 / (1 - rate)], rel=1e-4)
    assert torch.equal(*torch.autograd.grad(kept.sum(), ones), kept)
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], kept)


def test_neighbours_are_independent_and_extreme_rates_are_exact():
    torch.manual_seed(2)
    ones = torch.ones(1_000_000)
    kept = (dropout(ones, 0.5) != 0).double() - 0.5
    for distance in (1, 2, 3, 4, 5, 8):  # four of them share a draw
        assert abs((kept[distance:] * kept[:-distance]).mean().item()) < 5 * 0.25 / 1000
    assert torch.equal(dropout(ones, 0.0), ones)
    assert not dropout(ones, 1.0).any()
    assert dropout(ones[:0], 0.5).shape == (0,)
