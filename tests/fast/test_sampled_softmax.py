"""The types that stand for all types: which they are, and that a softmax over them has the right sum in the mean."""

import math

import numpy as np
import pytest
import torch
from support.losses import random_examples, random_model

from nmt.data.batching import Example, collate
from nmt.fast.batch_loss import FastBatchLoss
from nmt.fast.dropout import drawing_from
from nmt.fast.sampled_softmax import ALMOST_NOTHING, VocabularySampler, chances_of
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loss import BatchLoss

TYPES = 50
COUNTS = torch.tensor([0, 2000, 500, 90] + [30] * 10 + [3] * 20 + [0] * 16)
TARGETS = torch.tensor([7, 3, 7, 7, 49, 0, 3])
OWN = {0, 3, 7, 49}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("number", [1, 10, 40])
def test_the_targets_are_there_and_each_other_counts_as_one_divided_by_its_chance(number: int, padded: bool) -> None:
    sampler = VocabularySampler(COUNTS, number)
    others = 0
    for seed in range(20):
        torch.manual_seed(seed)
        types, stand_for, targets = sampler.sample(TARGETS, padded=padded)
        assert len(set(types.tolist())) == len(types)
        assert torch.equal(types[targets], TARGETS)
        assert (stand_for[targets] == 1).all()
        for type_, times in zip(types.tolist(), stand_for.tolist(), strict=True):
            if type_ not in OWN and not (padded and times == pytest.approx(ALMOST_NOTHING)):
                assert times == pytest.approx(1 / sampler.chances[type_].item())
                others += 1
    expected = sampler.chances[[type_ for type_ in range(TYPES) if type_ not in OWN]].sum().item()
    assert others == pytest.approx(20 * expected, abs=4 * math.sqrt(20 * expected))


def test_if_padded_the_number_of_types_is_always_the_same() -> None:
    sampler = VocabularySampler(torch.ones(2000, dtype=torch.long), 16)
    sizes = {len(sampler.sample(torch.randint(2000, (30,)), padded=True).tokens) for _ in range(50)}
    assert sizes == {30 + 16 + 24}


@pytest.mark.parametrize("padded", [False, True])
def test_enough_types_are_all_types(padded: bool) -> None:
    types, stand_for, targets = VocabularySampler(COUNTS, TYPES).sample(TARGETS, padded=padded)
    assert types.sort().values.tolist() == list(range(TYPES))
    assert (stand_for == 1).all()
    assert torch.equal(types[targets], TARGETS)


@pytest.mark.parametrize("padded", [False, True])
def test_the_sum_over_all_types_is_right_in_the_mean(padded: bool) -> None:
    torch.manual_seed(1)
    logits = 2 * torch.randn(TYPES, dtype=torch.float64)
    sampler = VocabularySampler(COUNTS, 20)
    samples = [sampler.sample(TARGETS, padded=padded) for _ in range(4000)]
    sums = torch.stack([logits[sample.tokens].exp() @ sample.counts.double() for sample in samples])
    error = sums.std().item() / math.sqrt(len(samples))
    assert sums.mean().item() == pytest.approx(logits.exp().sum().item(), abs=4 * error)
    assert error < 0.02 * logits.exp().sum().item()


@pytest.mark.parametrize("number", [1, 10, 30, 45, 50, 1000])
def test_chances_are_in_proportion_to_a_power_of_frequency_and_never_above_one(number: int) -> None:
    chances = chances_of(COUNTS, number).tolist()
    assert sum(chances) == pytest.approx(min(number, TYPES), rel=1e-5)
    wanted = [(1 + count) ** 0.75 for count in COUNTS.tolist()]
    ratios = [chance / want for chance, want in zip(chances, wanted, strict=True) if chance < 1]
    assert ratios == pytest.approx([max(ratios, default=0)] * len(ratios), rel=1e-5)
    assert all(chance <= 1 for chance in chances)
    for chance, want in zip(chances, wanted, strict=True):
        if chance == 1:  # its share would have been as large, or larger
            assert want * max(ratios, default=1) >= 1 - 1e-5


def test_types_are_drawn_by_their_chances() -> None:
    torch.manual_seed(1)
    draws, sampler = 4000, VocabularySampler(COUNTS, 20)
    drawn = torch.cat([sampler.sample(TARGETS).tokens for _ in range(draws)]).bincount(minlength=TYPES)
    for type_, chance in enumerate(sampler.chances.tolist()):
        expected = draws if type_ in OWN else draws * chance
        assert drawn[type_].item() == pytest.approx(expected, abs=4.5 * math.sqrt(draws * chance * (1 - chance)) + 1e-6)


def test_each_draw_is_another_and_a_seed_gives_the_same() -> None:
    sampler = VocabularySampler(COUNTS, 20)

    def drawn(seed: int) -> list[list[int]]:
        with drawing_from(torch.Generator().manual_seed(seed)):
            return [sampler.sample(TARGETS).tokens.tolist() for _ in range(2)]

    first, second = drawn(1)
    assert first != second
    assert drawn(1) == [first, second] != drawn(2)


@pytest.fixture
def model() -> Seq2Seq:
    return random_model()


@pytest.fixture
def examples() -> list[Example]:
    return random_examples()


@pytest.mark.parametrize("r_drop", [None, 2.0])
def test_a_sample_of_all_types_is_the_plain_loss(model: Seq2Seq, examples: list[Example], r_drop: float | None) -> None:
    model.eval()
    batch = collate(examples[:3])
    plain = BatchLoss(model, 0.1, r_drop)(batch)
    losses = FastBatchLoss(model, 0.1, r_drop)
    losses.sampler = VocabularySampler(torch.ones(11), 11)
    sampled = losses(batch)
    for loss, other in zip(plain, sampled, strict=True):
        assert other.item() == pytest.approx(loss.item(), rel=1e-6)
    gradients = [torch.autograd.grad(loss.smoothed, list(model.parameters())) for loss in (plain, sampled)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_a_sampled_softmax_is_its_formula(model: Seq2Seq, examples: list[Example]) -> None:
    smoothing, batch = 0.1, collate(examples[:2])
    model.eval()
    targets = [token for example in examples[:2] for token in [*example.target, 3]]
    torch.manual_seed(3)
    sampler = VocabularySampler(torch.ones(11), 3)
    types, stand_for, _ = sampler.sample(torch.tensor(targets))
    assert len(types) < 11
    torch.manual_seed(3)
    losses = FastBatchLoss(model, smoothing)
    losses.sampler = sampler
    loss = losses(batch)
    features, _ = model(batch.source, batch.source_lengths, batch.target_input, batch.loss_positions)
    logits = model.decoder.output(features).detach().numpy()[:, types]
    weights = stand_for.numpy()
    expected = nll = 0.0
    for row, target in zip(logits, targets, strict=True):
        log_probabilities = row - np.log(weights @ np.exp(row))
        own = -log_probabilities[types.tolist().index(target)]
        nll += own
        expected += (1 - smoothing) * own - smoothing * weights @ log_probabilities / weights.sum()
    assert loss.smoothed.item() == pytest.approx(expected, rel=1e-6)
    assert loss.nll.item() == pytest.approx(nll, rel=1e-6)
    loss.smoothed.backward()
    reached = model.decoder.output.weight.grad.any(dim=1)
    assert reached.nonzero().flatten().tolist() == sorted(types.tolist())
