"""The types that stand for all types: which they are, and that a softmax over them has the right sum in the mean."""

import math

import pytest
import torch

from nmt.kernels.dropout import drawing_from
from nmt.kernels.sampled_types import ALMOST_NOTHING, TypeSampler, chances_of

TYPES = 50
COUNTS = torch.tensor([0, 2000, 500, 90] + [30] * 10 + [3] * 20 + [0] * 16)
TARGETS = torch.tensor([7, 3, 7, 7, 49, 0, 3])
OWN = {0, 3, 7, 49}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("number", [1, 10, 40])
def test_the_targets_are_there_and_each_other_counts_as_one_divided_by_its_chance(number: int, padded: bool) -> None:
    sampler = TypeSampler(COUNTS, number)
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
    sampler = TypeSampler(torch.ones(2000, dtype=torch.long), 16)
    sizes = {len(sampler.sample(torch.randint(2000, (30,)), padded=True).types) for _ in range(50)}
    assert sizes == {30 + 16 + 24}


@pytest.mark.parametrize("padded", [False, True])
def test_enough_types_are_all_types(padded: bool) -> None:
    types, stand_for, targets = TypeSampler(COUNTS, TYPES).sample(TARGETS, padded=padded)
    assert types.sort().values.tolist() == list(range(TYPES))
    assert (stand_for == 1).all()
    assert torch.equal(types[targets], TARGETS)


@pytest.mark.parametrize("padded", [False, True])
def test_the_sum_over_all_types_is_right_in_the_mean(padded: bool) -> None:
    torch.manual_seed(1)
    logits = 2 * torch.randn(TYPES, dtype=torch.float64)
    sampler = TypeSampler(COUNTS, 20)
    samples = [sampler.sample(TARGETS, padded=padded) for _ in range(4000)]
    sums = torch.stack([logits[sample.types].exp() @ sample.stand_for.double() for sample in samples])
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
    draws, sampler = 4000, TypeSampler(COUNTS, 20)
    drawn = torch.cat([sampler.sample(TARGETS).types for _ in range(draws)]).bincount(minlength=TYPES)
    for type_, chance in enumerate(sampler.chances.tolist()):
        expected = draws if type_ in OWN else draws * chance
        assert drawn[type_].item() == pytest.approx(expected, abs=4.5 * math.sqrt(draws * chance * (1 - chance)) + 1e-6)


def test_each_draw_is_another_and_a_seed_gives_the_same() -> None:
    sampler = TypeSampler(COUNTS, 20)

    def drawn(seed: int) -> list[list[int]]:
        with drawing_from(torch.Generator().manual_seed(seed)):
            return [sampler.sample(TARGETS).types.tolist() for _ in range(2)]

    first, second = drawn(1)
    assert first != second
    assert drawn(1) == [first, second] != drawn(2)
