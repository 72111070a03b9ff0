import math

import numpy as np
import pytest
import torch
from support.losses import batch_loss, random_examples, random_model

from nmt.data.batching import collate
from nmt.training.loss import perplexity
from nmt.training.validation import mean_loss


def test_perplexity() -> None:
    assert perplexity(0.0) == 1.0
    assert perplexity(math.log(7)) == pytest.approx(7)
    assert perplexity(1e6) == math.inf


def test_mean_loss_is_per_token_for_any_batch_size() -> None:
    model, examples = random_model().eval(), random_examples()
    with torch.no_grad():
        alone = [batch_loss(model, collate([example]), 0.0).nll.item() for example in examples]
    expected = sum(alone) / sum(len(example.target) + 1 for example in examples)
    by_sentence = sum(nll / (len(e.target) + 1) for nll, e in zip(alone, examples, strict=True)) / len(examples)
    assert abs(by_sentence - expected) > 1e-4  # so that the two means can be told apart
    state = torch.get_rng_state()
    for batch_size in (1, 2, 5, 16, 17, 100):
        model.train(batch_size > 5)
        assert mean_loss(model, examples, batch_size) == pytest.approx(expected, rel=1e-12)
        assert model.training is model.encoder.training is (batch_size > 5)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_is_cross_entropy_with_smoothed_labels(smoothing: float) -> None:
    model, examples = random_model().eval(), random_examples()
    batch = collate(examples[:5])
    features, _ = model(batch.source, batch.source_lengths, batch.target_input, batch.loss_positions)
    logits = model.decoder.output(features).detach().numpy()
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    targets = np.concatenate([[*example.target, 3] for example in examples[:5]])  # 3 ends a sentence
    nll = -log_probabilities[np.arange(len(targets)), targets].sum()
    loss = batch_loss(model, batch, smoothing)
    assert loss.nll.item() == pytest.approx(nll, rel=1e-9)
    expected = (1 - smoothing) * nll - smoothing * log_probabilities.mean(axis=1).sum()
    assert loss.smoothed.item() == pytest.approx(expected, rel=1e-9)
    loss.smoothed.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
