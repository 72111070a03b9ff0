"""The tokens of a sampled softmax: which they are, and that a softmax over them has the right sum in the mean."""

import math

import numpy as np
import pytest
import torch
from support.losses import random_examples, random_model

from nmt.data.batching import collate
from nmt.fast.output_loss import FastBatchLoss
from nmt.fast.sampled_softmax import ALMOST_NOTHING, VocabularySampler, chances_of

VOCABULARY = 50
FREQUENCIES = torch.tensor([0, 2000, 500, 90] + [30] * 10 + [3] * 20 + [0] * 16)
TARGETS = torch.tensor([7, 3, 7, 7, 49, 0, 3])
TARGET_TOKENS = {0, 3, 7, 49}
PADDED = pytest.mark.parametrize("padded", [False, True])


@PADDED
@pytest.mark.parametrize("number", [1, 10, 40])
def test_the_targets_are_there_and_each_other_counts_as_one_divided_by_its_chance(number: int, padded: bool) -> None:
    sampler, samples, drawn = VocabularySampler(FREQUENCIES, number), 400, torch.zeros(VOCABULARY)
    for seed in range(samples):
        torch.manual_seed(seed)
        tokens, counts, targets = sampler.sample(TARGETS, padded=padded)
        assert len(set(tokens.tolist())) == len(tokens)
        assert torch.equal(tokens[targets], TARGETS)
        assert (counts[targets] == 1).all()
        for token, count in zip(tokens.tolist(), counts.tolist(), strict=True):
            if token not in TARGET_TOKENS and not (padded and count == pytest.approx(ALMOST_NOTHING)):
                assert count == pytest.approx(1 / sampler.chances[token].item())
                drawn[token] += 1
    for token, chance in enumerate(sampler.chances.tolist()):
        if token not in TARGET_TOKENS:
            spread = math.sqrt(samples * chance * (1 - chance))
            assert drawn[token].item() == pytest.approx(samples * chance, abs=4.5 * spread + 1e-3)


def test_if_padded_the_number_of_tokens_is_always_the_same_and_at_most_the_vocabulary() -> None:
    sampler = VocabularySampler(torch.ones(2000, dtype=torch.long), 16)
    sizes = {len(sampler.sample(torch.randint(2000, (30,)), padded=True).tokens) for _ in range(50)}
    assert sizes == {30 + 16 + 24}
    for padded in (False, True):
        tokens, counts, _ = VocabularySampler(FREQUENCIES, VOCABULARY).sample(TARGETS, padded=padded)
        assert tokens.sort().values.tolist() == list(range(VOCABULARY))
        assert (counts == 1).all()


@pytest.mark.parametrize("number", [1, 10, 30, 45, 50, 1000])
def test_chances_are_in_proportion_to_a_power_of_frequency_and_never_above_one(number: int) -> None:
    chances = chances_of(FREQUENCIES, number).tolist()
    assert sum(chances) == pytest.approx(min(number, VOCABULARY), rel=1e-5)
    powers = [(1 + frequency) ** 0.75 for frequency in FREQUENCIES.tolist()]
    ratios = [chance / power for chance, power in zip(chances, powers, strict=True) if chance < 1]
    assert ratios == pytest.approx([max(ratios, default=0)] * len(ratios), rel=1e-5)
    for chance, power in zip(chances, powers, strict=True):
        assert chance <= 1
        if chance == 1:  # its share would have been as large, or larger
            assert power * max(ratios, default=1) >= 1 - 1e-5


def test_a_sampled_softmax_is_its_formula() -> None:
    model, examples, smoothing = random_model().eval(), random_examples()[:2], 0.1
    batch = collate(examples)
    targets = [token for example in examples for token in [*example.target, 3]]
    sampler = VocabularySampler(torch.ones(11), 3)
    torch.manual_seed(3)
    tokens, counts, _ = sampler.sample(torch.tensor(targets))
    assert len(tokens) < 11
    torch.manual_seed(3)
    losses = FastBatchLoss(model, smoothing)
    losses.sampler = sampler
    loss = losses(batch)
    features, _ = model(batch.source, batch.source_lengths, batch.target_input, batch.loss_positions)
    logits = model.decoder.output(features).detach().numpy()[:, tokens]
    weights = counts.numpy()
    expected = nll = 0.0
    for row, target in zip(logits, targets, strict=True):
        log_probabilities = row - np.log(weights @ np.exp(row))
        of_target = -log_probabilities[tokens.tolist().index(target)]
        nll += of_target
        expected += (1 - smoothing) * of_target - smoothing * weights @ log_probabilities / weights.sum()
    assert loss.smoothed.item() == pytest.approx(expected, rel=1e-6)
    assert loss.nll.item() == pytest.approx(nll, rel=1e-6)
    loss.smoothed.backward()
    reached = model.decoder.output.weight.grad.any(dim=1)
    assert reached.nonzero().flatten().tolist() == sorted(tokens.tolist())
