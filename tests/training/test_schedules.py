import math
import random
from typing import Any

import pytest
import torch

from nmt.components import LEARNING_RATE_SCHEDULES
from nmt.config.training import ScheduleConfig, TeacherForcingConfig
from nmt.schedules.learning_rate import ScheduleStep
from nmt.training.update import sample_teacher_forcing_mask


def rate(update: int = 1, epoch: int = 1, reductions: int = 0, share_done: float = 0.0, **config: Any) -> float:
    schedule = ScheduleConfig.model_validate(config).component("kind")
    return schedule.rate(0.8, ScheduleStep(update, epoch, reductions, share_done))


def ratio(done: int, **config: Any) -> float:
    return TeacherForcingConfig.model_validate(config).component("schedule").at(done)


def test_constant_rate() -> None:
    assert [rate(update, epoch) for update, epoch in ((1, 1), (10, 2), (10**6, 99))] == [0.8] * 3


@pytest.mark.parametrize("kind", LEARNING_RATE_SCHEDULES)
def test_warmup_rises_linearly_to_the_full_rate(kind: str) -> None:
    rates = [rate(update, kind=kind, warmup=4) for update in (1, 2, 3, 4)]
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_plateaus_multiply() -> None:
    rates = [rate(100, 3, reductions, kind="plateau", factor=0.1) for reductions in range(4)]
    assert rates == pytest.approx([0.8, 0.08, 0.008, 0.0008])
    assert rate(1, 1, 2, kind="plateau", warmup=4) == pytest.approx(0.8 / 4 / 4)


def test_plateaus_are_for_their_schedule_alone() -> None:
    assert rate(100, 1, 3, kind="constant") == 0.8
    assert rate(100, 1, 3, kind="halving") == 0.8


def test_halving_after_each_epoch_from_start_epoch_on() -> None:
    rates = [rate(100, epoch, kind="halving", start_epoch=3) for epoch in (1, 2, 3, 4, 5, 6)]
    assert rates == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.2, 0.1])
    assert rate(100, 3, kind="halving", start_epoch=1, factor=0.1) == pytest.approx(0.008)


def test_inverse_square_root_after_the_warmup() -> None:
    rates = [rate(update, kind="inverse_sqrt", warmup=100) for update in (50, 100, 400, 10_000)]
    assert rates == pytest.approx([0.4, 0.8, 0.4, 0.08])


def test_cosine_falls_to_zero_over_the_whole_training() -> None:
    rates = [rate(100, share_done=share, kind="cosine") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert rates == pytest.approx([0.8, 0.4 + 0.4 / math.sqrt(2), 0.4, 0.4 - 0.4 / math.sqrt(2), 0.0])
    assert rate(1, share_done=0.5, kind="cosine", warmup=4) == pytest.approx(0.1)


def test_warmup_stable_decay_stays_and_falls_at_the_end() -> None:
    rates = [
        rate(100, share_done=share, kind="warmup_stable_decay", decay=0.25) for share in (0.0, 0.75, 0.85, 0.95, 1.0)
    ]
    assert rates == pytest.approx([0.8, 0.8, 0.48, 0.16, 0.0])


def test_constant_ratio() -> None:
    assert [ratio(done) for done in (0, 10**6)] == [1.0, 1.0]
    assert [ratio(done, ratio=0.25) for done in (0, 10**6)] == [0.25, 0.25]


def test_linear_decay() -> None:
    points = [ratio(done, schedule="linear", ratio=0.9, decay=0.01, minimum=0.2) for done in (0, 10, 69, 71, 10**9)]
    assert points == pytest.approx([0.9, 0.8, 0.21, 0.2, 0.2])


def test_exponential_decay() -> None:
    points = [ratio(done, schedule="exponential", decay=0.5, ratio=0.8) for done in (0, 1, 2, 3, 10**9)]
    assert points == pytest.approx([0.8, 0.4, 0.2, 0.1, 0.0])


@pytest.mark.parametrize("k", [1.5, 10.0, 1000.0])
def test_inverse_sigmoid_decay_is_the_papers(k: float) -> None:
    for done in (0, 1, 7, 100, int(100 * k)):
        expected = k / (k + math.exp(done / k))
        assert ratio(done, schedule="inverse_sigmoid", decay=k) == pytest.approx(expected)
        assert ratio(done, schedule="inverse_sigmoid", decay=k, ratio=0.5) == pytest.approx(expected / 2)


@pytest.mark.parametrize(
    "config",
    [
        {"schedule": "linear", "decay": 1e-3},
        {"schedule": "exponential", "decay": 0.99},
        {"schedule": "inverse_sigmoid", "decay": 50.0},
    ],
)
@pytest.mark.parametrize("minimum", [0.0, 0.3])
def test_ratios_fall_to_the_minimum_and_stay(config: dict[str, Any], minimum: float) -> None:
    points = [ratio(done, minimum=minimum, **config) for done in (*range(0, 2000, 7), 10**6, 10**12, 10**15)]
    assert points == sorted(points, reverse=True)
    assert points[0] > 0.9
    assert points[-1] == pytest.approx(minimum)
    assert all(minimum <= point <= 1 for point in points)


def mask(*arguments: Any) -> torch.Tensor:
    tossed = sample_teacher_forcing_mask(*arguments)
    assert tossed is not None
    assert tossed.shape == arguments[0]
    return tossed


def test_masks_without_choice() -> None:
    before = torch.get_rng_state()
    for granularity in ("token", "step", "batch"):
        assert sample_teacher_forcing_mask((3, 4), 1.0, granularity) is None
        assert torch.equal(torch.get_rng_state(), before)
    for granularity in ("token", "step", "batch"):
        assert not mask((50, 50), 0.0, granularity).any()


def test_masks_have_their_granularity_and_ratio() -> None:
    torch.manual_seed(1)
    for share in (0.2, 0.7):
        tokens = mask((100, 100), share, "token").float()
        assert abs(tokens.mean().item() - share) < 0.02  # four standard deviations
        assert 0 < tokens.mean(dim=1).min() < tokens.mean(dim=1).max() < 1
    steps = mask((3, 4000), 0.7, "step")
    assert torch.equal(steps.all(dim=0), steps.any(dim=0))  # one for all sentences
    assert abs(steps[0].float().mean().item() - 0.7) < 0.03
    batches = [mask((2, 3), 0.7, "batch") for _ in range(2000)]
    assert all(batch.all() == batch.any() for batch in batches)
    assert abs(sum(batch.all().item() for batch in batches) / 2000 - 0.7) < 0.04


def test_processes_share_the_mask_of_a_time_step_and_of_a_batch() -> None:
    for seed in range(20):
        for granularity, alike in (("step", True), ("batch", True), ("token", False)):
            torch.manual_seed(1)
            one = mask((3, 40), 0.5, granularity, random.Random(seed))
            torch.manual_seed(2)
            other = mask((2, 50), 0.5, granularity, random.Random(seed))  # other sentences, and longer ones
            assert torch.equal(one[0], other[0, :40]) is alike
