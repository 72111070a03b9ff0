"""The speed that a run prints."""

import math

from nmt.training.progress import ThroughputMeter, Tokens, describe_speed


def test_speed_is_that_since_the_last_train_event() -> None:
    meter = ThroughputMeter()
    assert math.isnan(meter.speed.source)
    meter.record_update(Tokens(30, 20), 10.0)
    meter.reset()
    for seconds in (4.0, 6.0):
        meter.record_update(Tokens(30, 20), seconds)
    assert meter.speed == Tokens(6, 4)


def test_the_speed_in_text() -> None:
    assert describe_speed(1.0, Tokens(3, 2), 90.0) == "loss 1.000, ppl 2.718, 3 src/s, 2 tgt/s, 01:30 left"
    # At the end of a run that was resumed with an end that lies behind it, no update was made.
    assert describe_speed(1.0, Tokens(math.nan, math.nan), math.inf) == "loss 1.000, ppl 2.718"
