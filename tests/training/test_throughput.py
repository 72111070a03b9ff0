"""The time left: by the recent speed, validations counted separately."""

import math

import pytest

from nmt.config.training import TrainingConfig
from nmt.training.counters import Counters
from nmt.training.progress import HALF_LIFE, ThroughputMeter, Tokens

TOKENS = Tokens(30, 20)


def metered(*durations: tuple[int, float]) -> ThroughputMeter:
    """A meter after so many updates of so many seconds each, and so on."""
    meter = ThroughputMeter()
    for updates, seconds in durations:
        for _ in range(updates):
            meter.record_update(TOKENS, seconds)
    return meter


def test_the_time_left_is_that_of_the_recent_speed() -> None:
    assert math.isnan(metered().seconds_left(10, 0))
    for updates in (1, 2, 1000):
        assert metered((updates, 0.1)).seconds_left(10, 0) == pytest.approx(1)
    # A thousand updates of 0.1 s, then each takes 5.25 s: 168 of them took 14.7 minutes.
    assert metered((1000, 0.1), (168, 5.25)).seconds_left(168, 0) / 60 == pytest.approx(14.7, rel=0.01)
    # The last ones count for half.
    assert metered((1000, 1.0), (HALF_LIFE, 3.0)).seconds_left(1, 0) == pytest.approx(2.0)


def test_validations_are_counted_separately() -> None:
    meter = metered((1, 2.0))
    assert meter.seconds_left(5, 3) == pytest.approx(10)  # the duration of a validation is not known yet
    meter.validation_seconds = 60.0
    assert meter.seconds_left(5, 3) == pytest.approx(5 * 2 + 3 * 60)


def test_speed_is_that_since_the_last_train_event() -> None:
    assert math.isnan(metered().speed.source)
    meter = metered((1, 10.0))
    meter.reset_speed()
    meter.record_update(TOKENS, 4.0)
    meter.record_update(TOKENS, 6.0)
    assert meter.speed == Tokens(6, 4)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_updates": 20, "validate_every": 6}, {0: 4, 5: 4, 6: 3, 18: 1, 20: 0}),  # at 6, 12, 18 and 20
        ({"max_updates": 12, "validate_every": 6}, {0: 2, 6: 1, 12: 0}),
        ({"max_epochs": 3, "accumulate": 2}, {0: 3, 3: 3, 4: 2, 12: 0}),  # of 8 batches each
    ],
)
def test_validations_to_come(settings: dict[str, int], expected: dict[int, int]) -> None:
    config = TrainingConfig.model_validate(settings)
    assert {n: Counters(update=n).validations_left(config, 8) for n in expected} == expected
