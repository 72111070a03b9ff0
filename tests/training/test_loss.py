import math

import numpy as np
import pytest
import torch
from support.losses import batch_loss, random_examples, random_model

from nmt.data.batching import Example, collate
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loss import BatchLoss, perplexity
from nmt.training.validation import mean_loss


def test_perplexity() -> None:
    assert perplexity(0.0) == 1.0
    assert perplexity(math.log(7)) == pytest.approx(7)
    assert perplexity(1e6) == math.inf


@pytest.fixture
def model() -> Seq2Seq:
    return random_model()


@pytest.fixture
def examples() -> list[Example]:
    return random_examples()


def test_mean_loss_is_per_token_for_any_batch_size(model: Seq2Seq, examples: list[Example]) -> None:
    model.eval()
    with torch.no_grad():
        alone = [batch_loss(model, collate([example]), 0.0).nll.item() for example in examples]
    expected = sum(alone) / sum(len(example.target) + 1 for example in examples)
    by_sentence = sum(nll / (len(e.target) + 1) for nll, e in zip(alone, examples, strict=True)) / len(examples)
    assert abs(by_sentence - expected) > 1e-4  # so that the two means can be told apart
    for batch_size in (1, 2, 5, 16, 17, 100):
        assert mean_loss(model, examples, batch_size) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_mean_loss_is_without_dropout_and_leaves_the_mode(
    model: Seq2Seq, examples: list[Example], training: bool
) -> None:
    expected = mean_loss(model.eval(), examples, 4)
    model.train(training)
    state = torch.get_rng_state()
    assert mean_loss(model, examples, 4) == expected
    assert model.training is training
    assert model.encoder.training is training
    assert torch.equal(torch.get_rng_state(), state)


def test_without_dropout_r_drop_is_the_plain_loss(model: Seq2Seq, examples: list[Example]) -> None:
    model.eval()
    batch = collate(examples[:5])
    for plain, other in zip(batch_loss(model, batch, 0.1), batch_loss(model, batch, 0.1, r_drop=5.0), strict=True):
        assert other.item() == pytest.approx(plain.item(), rel=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_r_drop_is_its_formula(model: Seq2Seq, examples: list[Example], alpha: float) -> None:
    smoothing, batch = 0.1, collate(examples[:5])
    twice = collate(examples[:5] * 2)
    model.train()
    torch.manual_seed(3)
    places = twice.loss_positions.view(2, -1).t().flatten()  # both readings of a token, one after the other
    features, _ = model(twice.source, twice.source_lengths, twice.target_input, places)
    logits = model.decoder.output(features).detach().numpy()
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    p, q = probabilities[0::2], probabilities[1::2]
    targets = np.concatenate([[*example.target, 3] for example in examples[:5]])  # 3 ends a sentence
    expected = nll = 0.0
    for a, b, target in zip(p, q, targets, strict=True):
        for one, other in ((a, b), (b, a)):
            cross_entropy = -(1 - smoothing) * np.log(one[target]) - smoothing * np.log(one).mean()
            divergence = sum(x * np.log(x / y) for x, y in zip(one, other, strict=True))
            expected += (cross_entropy + alpha * divergence / 2) / 2
            nll -= np.log(one[target]) / 2
    torch.manual_seed(3)
    loss = BatchLoss(model, smoothing, alpha)(batch)
    assert loss.smoothed.item() == pytest.approx(expected, rel=1e-9)
    assert loss.nll.item() == pytest.approx(nll, rel=1e-9)
    torch.manual_seed(3)
    without = batch_loss(model, batch, smoothing, r_drop=0.0)
    assert loss.smoothed.item() - without.smoothed.item() > 1e-3  # dropout makes a difference
    loss.smoothed.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
