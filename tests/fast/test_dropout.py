import pytest
import torch

from nmt.fast.dropout import dropout
from nmt.model.layers import EmbeddingDropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_the_rate_and_the_mean_are_kept(rate):
    torch.manual_seed(1)
    ones = torch.ones(1001, 999, requires_grad=True)
    kept = dropout(ones, rate)
    count = ones.numel()
    spread = (rate * (1 - rate) / count) ** 0.5
    assert (kept == 0).float().mean().item() == pytest.approx(rate, abs=5 * spread)
    assert kept.mean().item() == pytest.approx(1, abs=5 * spread / (1 - rate))
    assert kept.max().item() == pytest.approx(1 / (1 - rate), rel=1e-4)
    assert kept.unique().numel() == 2
    (gradient,) = torch.autograd.grad(kept.sum(), ones)
    assert torch.equal(gradient, kept)  # the same mask


def test_neighbours_are_independent():
    torch.manual_seed(2)
    kept = (dropout(torch.ones(1_000_000), 0.5) != 0).double() - 0.5
    for distance in (1, 2, 3, 4, 5, 8):  # four of them share a draw
        assert abs((kept[distance:] * kept[:-distance]).mean().item()) < 5 * 0.25 / 1000


def test_the_seed_decides():
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(dropout(torch.ones(5, 7), 0.5))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


def test_extreme_rates_and_evaluation():
    ones = torch.ones(3, 5)
    assert torch.equal(dropout(ones, 0.0), ones)
    assert torch.equal(dropout(ones, 1.0), torch.zeros(3, 5))
    assert dropout(torch.ones(0, 5), 0.5).shape == (0, 5)


def test_whole_embeddings_are_dropped():
    torch.manual_seed(4)
    ones = torch.ones(200, 50, 8)
    kept = EmbeddingDropout(0.0, 0.25)(ones)
    words = kept[..., 0]
    assert torch.equal(kept, words.unsqueeze(2).expand_as(kept))
    assert words.unique().tolist() == pytest.approx([0, 4 / 3], rel=1e-4)
    assert (words == 0).float().mean().item() == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 10_000) ** 0.5)
    both = EmbeddingDropout(0.5, 0.25)(ones)
    assert (both == 0).float().mean().item() == pytest.approx(1 - 0.5 * 0.75, abs=0.02)
    assert both.mean().item() == pytest.approx(1, abs=0.03)
    assert torch.equal(EmbeddingDropout(0.5, 0.25).eval()(ones), ones)
