"""Early stopping, plateaus, ends: what validations decide."""

from typing import Any

import pytest
from support.runs import BLEUS, LOSSES, ConfigMaker, assert_same, contents, events, finish, script

from nmt.config.training import TrainingConfig
from nmt.training.counters import Counters


@pytest.mark.parametrize(
    ("metric", "patience", "ended", "best", "at"),
    [("bleu", 3, 6, 30.0, 3), ("loss", 3, 7, 1.9, 4), ("bleu", 1, 2, 10.0, 1)],
)
def test_early_stopping_keeps_the_best(
    make_config: ConfigMaker, monkeypatch: Any, metric: str, patience: int, ended: int, best: float, at: int
) -> None:
    weights = script(monkeypatch, LOSSES, BLEUS)
    stopping = f"training.early_stopping={{metric: {metric}, patience: {patience}}}"
    folder = finish(make_config(stopping, "training.validate_every=2"))
    assert len(weights) == ended
    (end,) = events(folder, "end")
    assert (end["update"], end["best"]) == (2 * ended, best)
    assert end["reason"] == f"{patience} validation{'s' if patience > 1 else ''} without a better {metric}"
    assert_same(contents(folder, "best.safetensors")["model"], weights[at - 1])
    assert_same(contents(folder, "last.safetensors")["model"], weights[-1])


@pytest.mark.parametrize(
    ("metric", "losses"),
    [("bleu", [3.0, 2.0, *[2.5] * 8]), ("loss", [4.0, 3.0, *[3.5] * 8])],  # of equal BLEUs the lower loss
)
def test_the_better_of_two_validations(metric: str, losses: list[float]) -> None:
    counters = Counters()
    config = TrainingConfig.model_validate({"early_stopping": {"metric": metric}})
    for number, loss in enumerate(losses):
        counters.record_validation(loss, 0.0, config)
        assert counters.since_best == max(0, number - 1)


def test_a_plateau_reduces_the_rate(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, [3.0, 3.1, 3.2, 2.0, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5], [0.0] * 10)
    schedule = "training.schedule={kind: plateau, factor: 0.1, patience: 2}"
    every = ("training.validate_every=2", "training.log_every=1")
    folder = finish(make_config(schedule, "training.early_stopping.metric=loss", *every))
    rates = [event["learning_rate"] for event in events(folder, "train")]
    # Validation 3 is the second without a better loss; 4 is better; then 6, 8 and 10 are each the second again.
    assert rates == pytest.approx([1e-2] * 6 + [1e-3] * 6 + [1e-4] * 4 + [1e-5] * 4)


def test_epochs_and_updates_end_training_and_halve_the_rate(make_config: ConfigMaker) -> None:
    epochs = ("training.max_epochs=3", "training.log_every=1", "training.batch_size=15")
    halving = "training.schedule={kind: halving, start_epoch: 1}"
    of_epochs = [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]
    for updates, reason, rates in ((4, "4 updates", of_epochs[:4]), (99, "3 epochs", of_epochs)):
        folder = finish(make_config(f"name={updates}", *epochs, halving, f"training.max_updates={updates}"))
        train = events(folder, "train")
        assert [event["learning_rate"] for event in train] == pytest.approx([0.01 * rate for rate in rates])
        assert [event["epoch"] for event in train] == [1, 1, 1, 2, 2, 2, 3, 3, 3][: len(rates)]
        assert [(event["update"], event["reason"]) for event in events(folder, "end")] == [(len(rates), reason)]
        assert events(folder, "validation")[-1]["update"] == len(rates)


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({"max_epochs": 2, "max_updates": None}, 5 / 16),
        ({"max_epochs": None, "max_updates": 20}, 5 / 20),
        ({"max_epochs": 2, "max_updates": 5}, 1.0),  # what ends first decides
        ({"max_epochs": 1, "max_updates": 20}, 5 / 8),
    ],
)
def test_the_share_of_training_that_is_done_and_the_time_left(limits: dict[str, Any], share: float) -> None:
    config = TrainingConfig.model_validate(limits)
    counters = Counters(update=5, batch=5, seconds=60.0)
    assert counters.fraction_completed(config, batches_per_epoch=8) == pytest.approx(share)
    assert counters.seconds_left(config, batches_per_epoch=8) == pytest.approx(60 / share - 60)


def test_speed_is_that_since_the_last_train_event() -> None:
    counters = Counters()
    for seconds in (10.0, 4.0, 6.0):
        counters.record_update(1.0, (30, 20), 1, 0.1)
        counters.update_seconds += seconds
        if seconds == 10:
            counters.reset_measures()
    assert counters.speed == (6, 4)
