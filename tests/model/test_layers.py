"""First values of an LSTM's biases, and dropout of whole embeddings."""

import pytest
import torch

from nmt.model.cells import LSTMCell
from nmt.model.layers import EmbeddingDropout


def test_forget_gates_begin_open() -> None:
    bias = LSTMCell(3).bias.detach()
    assert torch.equal(bias, torch.tensor([0.0] * 3 + [1.0] * 3 + [0.0] * 6))


def test_whole_embeddings_are_dropped() -> None:
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
