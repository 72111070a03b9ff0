"""Early stopping, plateaus, ends: what validations decide."""

import math
from typing import Any

import pytest
from support.runs import BLEUS, LOSSES, ConfigMaker, assert_same, contents, events, finish, script

from nmt.config.training import TrainingConfig
from nmt.training.counters import Counters


@pytest.mark.parametrize(
    ("metric", "patience", "ended", "best", "at"),
    [("bleu", 3, 6, 30.0, 3), ("loss", 3, 7, 1.9, 4), ("bleu", 1, 2, 10.0, 1), ("loss", 2, 6, 1.9, 4)],
)
def test_early_stopping_keeps_the_best(
    make_config: ConfigMaker,
    monkeypatch: pytest.MonkeyPatch,
    metric: str,
    patience: int,
    ended: int,
    best: float,
    at: int,
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
    [("bleu", [3.0, 2.0, *[2.5] * 8]), ("loss", [math.nan, 3.0, *[math.nan] * 8])],  # of equal BLEUs the lower loss
)
def test_the_better_of_two_validations(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, metric: str, losses: list[float]
) -> None:
    """Without patience training goes on to its end."""
    weights = script(monkeypatch, losses, [0.0] * 10)
    folder = finish(make_config(f"training.early_stopping={{metric: {metric}}}", "training.validate_every=2"))
    assert len(weights) == 10
    assert_same(contents(folder, "best.safetensors")["model"], weights[1])


def test_a_plateau_reduces_the_rate(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, [3.0, 3.1, 3.2, 2.0, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5], [0.0] * 10)
    overrides = [
        "training.schedule={kind: plateau, factor: 0.1, patience: 2}",
        "training.early_stopping.metric=loss",
        "training.validate_every=2",
        "training.log_every=1",
    ]
    rates = [event["learning_rate"] for event in events(finish(make_config(*overrides)), "train")]
    # Validation 3 is the second without a better loss; 4 is better; then 6, 8 and 10 are each the second again.
    assert rates == pytest.approx([1e-2] * 6 + [1e-3] * 6 + [1e-4] * 4 + [1e-5] * 4)


def test_the_rate_halves_by_epochs(make_config: ConfigMaker) -> None:
    overrides = [
        "training.schedule={kind: halving, start_epoch: 1}",
        "training.log_every=1",
        "training.max_epochs=3",
        "training.max_updates=null",
        "training.batch_size=15",
    ]
    train = events(finish(make_config(*overrides)), "train")
    assert [event["epoch"] for event in train] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [event["learning_rate"] for event in train] == pytest.approx([0.01] * 3 + [0.005] * 3 + [0.0025] * 3)


@pytest.mark.parametrize(
    ("limits", "updates", "reason"),
    [
        ({"max_epochs": 2, "max_updates": "null"}, 16, "2 epochs"),
        ({"max_epochs": 2, "max_updates": 5}, 5, "5 updates"),
        ({"max_epochs": 1, "max_updates": 99}, 8, "1 epoch"),
    ],
)
def test_training_ends_where_the_config_says(
    make_config: ConfigMaker, limits: dict[str, Any], updates: int, reason: str
) -> None:
    folder = finish(make_config(*(f"training.{key}={value}" for key, value in limits.items())))
    assert [(event["update"], event["reason"]) for event in events(folder, "end")] == [(updates, reason)]
    assert contents(folder)["training"]["state"]["update"] == updates
    assert events(folder, "validation")[-1]["update"] == updates


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({"max_epochs": 2, "max_updates": None}, 5 / 16),
        ({"max_epochs": None, "max_updates": 20}, 5 / 20),
        ({"max_epochs": 2, "max_updates": 5}, 1.0),  # what ends first decides
        ({"max_epochs": 1, "max_updates": 20}, 5 / 8),
    ],
)
def test_the_share_of_training_that_is_done(make_config: ConfigMaker, limits: dict[str, Any], share: float) -> None:
    fields = [f"training.{key}={'null' if value is None else value}" for key, value in limits.items()]
    training = make_config(*fields).training
    assert Counters(update=5, batch=5).fraction_completed(training, batches_per_epoch=8) == pytest.approx(share)


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
