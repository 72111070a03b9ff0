import math
from typing import Any

import pytest
import torch

from nmt.components import LEARNING_RATE_SCHEDULES
from nmt.config.training import ScheduleConfig, TeacherForcingConfig
from nmt.schedules.learning_rate import ScheduleStep
from nmt.training.update import sample_teacher_forcing_mask


def rate(update: int = 100, epoch: int = 1, reductions: int = 0, share_done: float = 0.0, **config: Any) -> float:
    schedule = ScheduleConfig.model_validate(config).component("kind")
    return schedule.rate(0.8, ScheduleStep(update, epoch, reductions, share_done))


def ratio(updates: int, **config: Any) -> float:
    return TeacherForcingConfig.model_validate(config).component("schedule").at(updates)


@pytest.mark.parametrize("kind", LEARNING_RATE_SCHEDULES)
def test_warmup_rises_linearly_to_the_full_rate(kind: str) -> None:
    rates = [rate(update, kind=kind, warmup=4) for update in (1, 2, 3, 4)]
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8])


@pytest.mark.parametrize(
    ("config", "axis", "values", "rates"),
    [
        ({"kind": "constant"}, "update", (1, 10, 10**6), (0.8, 0.8, 0.8)),
        ({"kind": "plateau", "factor": 0.1}, "reductions", range(4), (0.8, 0.08, 0.008, 0.0008)),
        ({"kind": "plateau", "warmup": 400}, "reductions", (0, 2), (0.2, 0.05)),
        ({"kind": "halving", "start_epoch": 3}, "epoch", range(1, 7), (0.8, 0.8, 0.8, 0.4, 0.2, 0.1)),
        ({"kind": "inverse_sqrt", "warmup": 100}, "update", (50, 100, 400, 10_000), (0.4, 0.8, 0.4, 0.08)),
        (
            {"kind": "cosine"},
            "share_done",
            (0.0, 0.25, 0.5, 0.75, 1.0),
            (0.8, 0.4 + 0.4 / math.sqrt(2), 0.4, 0.4 - 0.4 / math.sqrt(2), 0.0),
        ),
        ({"kind": "cosine", "warmup": 400}, "share_done", (0.5,), (0.1,)),
        (
            {"kind": "warmup_stable_decay", "decay": 0.25},
            "share_done",
            (0.0, 0.75, 0.85, 0.95, 1.0),
            (0.8, 0.8, 0.48, 0.16, 0.0),
        ),
    ],
    ids=str,
)
def test_rates_are_those_of_the_formula(config: dict[str, Any], axis: str, values: Any, rates: Any) -> None:
    assert [rate(**{axis: value}, **config) for value in values] == pytest.approx(rates)


@pytest.mark.parametrize(
    ("config", "updates", "ratios"),
    [
        ({"ratio": 0.25}, (0, 10**6), (0.25, 0.25)),
        (
            {"schedule": "linear", "ratio": 0.9, "decay": 0.01, "minimum": 0.2},
            (0, 10, 69, 71, 10**9),
            (0.9, 0.8, 0.21, 0.2, 0.2),
        ),
        ({"schedule": "exponential", "decay": 0.5, "ratio": 0.8}, (0, 1, 2, 3, 10**9), (0.8, 0.4, 0.2, 0.1, 0.0)),
    ],
    ids=str,
)
def test_ratios_are_those_of_the_formula(config: dict[str, Any], updates: Any, ratios: Any) -> None:
    assert [ratio(i, **config) for i in updates] == pytest.approx(ratios)


@pytest.mark.parametrize("k", [1.5, 10.0, 1000.0])
def test_inverse_sigmoid_decay_is_the_papers(k: float) -> None:
    for i in (0, 1, 7, 100, int(100 * k)):
        expected = k / (k + math.exp(i / k))
        assert ratio(i, schedule="inverse_sigmoid", decay=k) == pytest.approx(expected)
        assert ratio(i, schedule="inverse_sigmoid", decay=k, ratio=0.5) == pytest.approx(expected / 2)


def mask(*arguments: Any) -> torch.Tensor:
    sampled = sample_teacher_forcing_mask(*arguments)
    assert sampled is not None
    assert sampled.shape == arguments[0]
    return sampled


def test_masks_have_their_granularity_and_ratio() -> None:
    before = torch.get_rng_state()
    for granularity in ("token", "step", "batch"):
        assert sample_teacher_forcing_mask((3, 4), 1.0, granularity) is None
        assert torch.equal(torch.get_rng_state(), before)
    assert not any(mask((50, 50), 0.0, granularity).any() for granularity in ("token", "step", "batch"))
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
