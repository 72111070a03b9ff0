"""Whole runs, of a tiny model on a made-up language: what they leave behind, and how they go on after a stop."""

import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt import checkpoint
from nmt.config import Config
from nmt.config_file import load_config
from nmt.data.corpus import ParallelText
from nmt.errors import UserError
from nmt.model.seq2seq import Seq2Seq
from nmt.training import loop, metrics, validation
from nmt.training import run as run_module
from nmt.training.interruption import Interrupted, StopSignals
from nmt.training.metrics import MetricsLog
from nmt.training.run import run
from nmt.training.validation import Validation
from nmt.translator import Translator

ConfigMaker = Callable[..., Config]
# 45 pairs in batches of 6 are 8 batches, so with accumulation 4 updates an epoch: update 10 is in mid-epoch.
HARD = [
    "training.accumulate=2",
    "training.teacher_forcing={schedule: linear, ratio: 0.9, decay: 0.01}",
    "training.checkpoint_every=3",
    "training.moving_average=0.9",
    "training.schedule={kind: cosine, warmup: 3}",
    "model.word_dropout=0.1",
]
MEASURED = {"seconds", "source_tokens_per_second", "target_tokens_per_second"}


@pytest.fixture(autouse=True)
def _no_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_summary_writer", lambda *_: None)


class Killed(BaseException):
    """Ends a run as a kill would: nothing is saved on the way out."""


def after_update(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Do something right behind the computation of that update, until `monkeypatch` undoes it."""
    real = loop.update

    def update(*arguments: Any) -> float:
        nll = real(*arguments)
        if arguments[-1] + 1 == number:
            act()
        return nll

    monkeypatch.setattr(loop, "update", update)


def run_and_stop(monkeypatch: pytest.MonkeyPatch, config: Config, number: int, *, resume: bool = False) -> Path:
    """Run until a stop is asked for in that update."""
    stop = StopSignals()
    with monkeypatch.context() as patch:
        after_update(patch, number, lambda: setattr(stop, "requested", True))
        return run(config, stop, resume=resume)


def run_and_kill(monkeypatch: pytest.MonkeyPatch, config: Config, number: int, *, resume: bool = False) -> None:
    """Run until it is killed in that update."""

    def kill() -> None:
        raise Killed

    with monkeypatch.context() as patch:
        after_update(patch, number, kill)
        with pytest.raises(Killed):
            run(config, StopSignals(), resume=resume)


def finish(config: Config, *, resume: bool = False) -> Path:
    return run(config, StopSignals(), resume=resume)


def events(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [event for event in found if kind in (None, event["event"])]


def without_times(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in event.items() if k not in MEASURED} for event in found]


def contents(folder: Path, name: str = "last.pt") -> dict[str, Any]:
    """A checkpoint's weights and training state, but for times and the run's name."""
    found = torch.load(folder / name, weights_only=True)
    if found["training"] is not None:
        found["training"]["state"].pop("seconds")
        found["training"].pop("metrics_size")
    return {"model": dict(found["model"]), "training": found["training"]}


def assert_same(one: Any, other: Any) -> None:
    """Equal bit by bit, however deeply the tensors lie."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert one == other


def assert_same_run(one: Path, other: Path) -> None:
    assert_same(contents(one), contents(other))
    assert_same(contents(one, "best.pt"), contents(other, "best.pt"))
    assert without_times(events(one)) == without_times(events(other))


@pytest.mark.parametrize("wiring", ["bahdanau", "luong", "none"])
def test_stop_and_resume_change_no_bit(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, wiring: str) -> None:
    """20 updates = 10 + stop + resume + 10, with dropout, scheduled sampling, accumulation, in mid-epoch."""
    axes = f"model.attention.wiring={wiring}"
    straight = finish(make_config(*HARD, axes, "name=straight"))
    config = make_config(*HARD, axes, "name=stopped")
    folder = run_and_stop(monkeypatch, config, 10)
    state = contents(folder)["training"]["state"]
    assert (state["update"], state["epoch"], state["batch"]) == (10, 2, 4)
    torch.manual_seed(99)  # whatever the process did before
    assert finish(config, resume=True) == folder
    assert contents(folder)["training"]["state"]["update"] == 20
    assert_same_run(folder, straight)


def test_resuming_draws_the_epoch_s_subwords_again(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = [
        f"data.{side}.{field}"
        for side in ("source", "target")
        for field in ("tokenizer=sentencepiece", "vocabulary_size=24", "subword_sampling=0.3")
    ]
    straight = finish(make_config(*HARD, *sides, "name=straight"))
    config = make_config(*HARD, *sides, "name=stopped")
    folder = run_and_stop(monkeypatch, config, 10)
    assert contents(folder)["training"]["state"]["batch"] == 4
    assert_same_run(finish(config, resume=True), straight)


def test_the_moving_average_is_validated_and_kept(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    validated = script(monkeypatch, LOSSES, range(1, 9))
    folder = finish(make_config("training.moving_average=0.5", "training.max_updates=8"))
    last = torch.load(folder / "last.pt", weights_only=True)
    for name, weight in contents(folder, "best.pt")["model"].items():
        assert torch.equal(weight, validated[-1][name])
        assert torch.equal(weight, last["training"]["average"][name])
    assert not torch.equal(last["model"]["decoder.output.weight"], last["training"]["average"]["decoder.output.weight"])


@pytest.mark.parametrize("killed_at", [2, 11, 19])
def test_kill_and_resume_change_no_bit(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    """What was recorded after the checkpoint is computed and recorded again, once."""
    straight = finish(make_config(*HARD, "training.log_every=1", "name=straight"))
    config = make_config(*HARD, "training.log_every=1", "name=killed")
    run_and_kill(monkeypatch, config, killed_at)
    folder = Path(config.output_dir) / config.name
    if killed_at > 2:
        assert contents(folder)["training"]["state"]["update"] == (killed_at - 1) // 3 * 3
        assert len(events(folder, "train")) == killed_at - 1
    finish(config, resume=True)
    assert_same_run(folder, straight)


def test_killed_again_and_again(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    straight = finish(make_config(*HARD, "training.log_every=1", "name=straight"))
    config = make_config(*HARD, "training.log_every=1", "name=killed")
    run_and_kill(monkeypatch, config, 12)
    for number in (10, 10, 11, 14, 13, 20):
        run_and_kill(monkeypatch, config, number, resume=True)
    assert_same_run(finish(config, resume=True), straight)


def test_stop_and_resume_at_every_update(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    straight = finish(make_config(*HARD, "name=straight", "training.max_updates=9"))
    config = make_config(*HARD, "name=stopped", "training.max_updates=9")
    for number in range(1, 9):
        run_and_stop(monkeypatch, config, number, resume=number > 1)
    assert_same_run(finish(config, resume=True), straight)


def test_a_finished_run_goes_on_with_a_later_end(make_config: ConfigMaker) -> None:
    hard = [*HARD, "training.schedule={kind: inverse_sqrt, warmup: 3}"]  # the cosine's rate depends on the end
    straight = finish(make_config(*hard, "name=straight"))
    folder = finish(make_config(*hard, "training.max_updates=10"))
    assert [event["reason"] for event in events(folder, "end")] == ["10 updates"]
    finish(make_config(*hard), resume=True)
    assert [event["reason"] for event in events(folder, "end")] == ["20 updates"]
    assert_same(contents(folder)["model"], contents(straight)["model"])
    assert_same(contents(folder)["training"]["optimizer"], contents(straight)["training"]["optimizer"])
    assert without_times(events(folder, "train")) == without_times(events(straight, "train"))


def test_resuming_a_finished_run_changes_nothing(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=4", "training.log_every=3")
    folder = finish(config)
    before = contents(folder), contents(folder, "best.pt"), without_times(events(folder))
    finish(config, resume=True)
    assert_same(before, (contents(folder), contents(folder, "best.pt"), without_times(events(folder))))


@pytest.mark.parametrize("resumes", [1, 2])
def test_a_stop_in_validation_saves_at_once_and_resuming_validates(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, resumes: int
) -> None:
    straight = finish(make_config(*HARD, "name=straight"))
    config = make_config(*HARD, "name=stopped")
    folder = Path(config.output_dir) / config.name
    real = validation.sacrebleu_score

    def interrupt(hypotheses: Sequence[str], references: Sequence[str]) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        return real(hypotheses, references)

    for attempt in range(resumes):
        stop = StopSignals()
        started = time.monotonic()
        with monkeypatch.context() as patch, stop.installed():
            patch.setattr(validation, "sacrebleu_score", interrupt)
            run(config, stop, resume=attempt > 0)
        assert time.monotonic() - started < 4
        state = contents(folder)["training"]["state"]
        assert (state["update"], state["validated"]) == (4, 0)
        assert events(folder, "validation") == []
        assert not (folder / "best.pt").exists()
    finish(config, resume=True)
    assert_same_run(folder, straight)


def test_another_seed_is_another_run(make_config: ConfigMaker) -> None:
    one, same, other = (
        contents(finish(make_config(f"name=run{number}", f"training.seed={seed}", "training.max_updates=2")))["model"]
        for number, seed in enumerate((1, 1, 2))
    )
    assert_same(one, same)
    assert not torch.equal(one["decoder.bridge.weight"], other["decoder.bridge.weight"])


def test_events_have_their_fields(make_config: ConfigMaker) -> None:
    folder = finish(make_config("training.log_every=3"))
    common = {"event", "update", "epoch"}
    speeds = {"source_tokens_per_second", "target_tokens_per_second"}
    train, validations, end = (events(folder, kind) for kind in ("train", "validation", "end"))
    assert len(train) + len(validations) + len(end) == len(events(folder))
    assert [(e["update"], e["epoch"]) for e in train] == [(3, 1), (6, 1), (9, 2), (12, 2), (15, 2), (18, 3), (20, 3)]
    assert [(e["update"], e["epoch"]) for e in validations] == [(8, 1), (16, 2), (20, 3)]
    assert [(e["update"], e["epoch"], e["reason"]) for e in end] == [(20, 3, "20 updates")]
    for event in train:
        assert event.keys() == common | {"loss", "perplexity", "learning_rate"} | speeds
        assert event["learning_rate"] == 0.01
        assert all(event[speed] > 0 for speed in speeds)
    for event in validations:
        assert event.keys() == common | {"loss", "perplexity", "bleu", "seconds"}
        assert 0 <= event["bleu"] <= 100
    for event in train + validations:
        assert event["perplexity"] == pytest.approx(2.718281828459045 ** event["loss"])
        assert 0 < event["loss"] < 10
    assert end[0].keys() == common | {"reason", "best", "seconds"}
    assert end[0]["best"] == max(event["bleu"] for event in validations)
    assert train[-1]["loss"] < train[0]["loss"]


def test_each_update_s_loss_is_counted_once_over_its_tokens(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `train` event holds the summed likelihood since the last one, per token."""
    seen = []
    real = loop.update

    def update(*arguments: Any) -> float:
        nll = real(*arguments)
        seen.append((nll, sum(batch.target_tokens for batch in arguments[2])))
        return nll

    monkeypatch.setattr(loop, "update", update)
    folder = finish(make_config("training.max_updates=9", "training.accumulate=3"))
    parts = [seen[:4], seen[4:8], seen[8:]]
    expected = [sum(nll for nll, _ in part) / sum(tokens for _, tokens in part) for part in parts]
    assert [event["loss"] for event in events(folder, "train")] == pytest.approx(expected)
    epoch = seen[:3]  # of 8 batches: 3, 3 and 2
    assert sum(tokens for _, tokens in epoch) == sum(tokens for _, tokens in seen[3:6])


def test_every_update_is_made_in_training_mode(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a validation too, and behind the loading of a checkpoint."""
    modes = []
    real = loop.update

    def update(*arguments: Any) -> float:
        modes.append({module.training for module in arguments[0].modules()})
        return real(*arguments)

    monkeypatch.setattr(loop, "update", update)
    config = make_config("training.validate_every=2", "training.max_updates=6")
    run_and_stop(monkeypatch, config, 3)
    finish(config, resume=True)
    assert modes == [{True}] * 6


def test_the_folder_holds_all_that_it_promises(make_config: ConfigMaker, text: dict[str, ParallelText]) -> None:
    config = make_config("training.max_updates=3")
    folder = finish(config)
    assert folder == Path(config.output_dir) / "tiny"
    assert {path.name for path in folder.iterdir()} == {"best.pt", "last.pt", "metrics.jsonl", "config.yaml"}
    assert load_config(folder / "config.yaml") == config
    best = checkpoint.load(folder / "best.pt", torch.device("cpu"))
    assert best.config == config
    assert best.training is None
    assert len(Translator.load(folder / "best.pt").translate(text["test"].source)) == len(text["test"].source)


def test_training_learns_its_text_by_heart(make_config: ConfigMaker, corpus: Path) -> None:
    config = make_config(
        f"data.source.validation={corpus / 'train.src'}",
        f"data.target.validation={corpus / 'train.tgt'}",
        "training.max_updates=160",
        "training.validate_every=160",
        "training.learning_rate=0.02",
        "training.label_smoothing=0",
        "model={embedding_size: 16, embedding_dropout: 0, encoder: {hidden_size: 16, dropout: 0}, "
        "decoder: {hidden_size: 32, dropout: 0}}",
    )
    (validated,) = events(finish(config), "validation")
    assert validated["perplexity"] < 1.3
    assert validated["bleu"] > 80


def script(monkeypatch: pytest.MonkeyPatch, losses: Sequence[float], bleus: Sequence[float]) -> list[dict[str, Any]]:
    """Have the validations come out like this; returns the list that the model's weights are put in at each."""
    weights: list[dict[str, Any]] = []

    def validate(model: Seq2Seq, *others: Any) -> Validation:
        text = others[-1]
        weights.append({name: value.clone() for name, value in model.state_dict().items()})
        return Validation(losses[len(weights) - 1], bleus[len(weights) - 1], list(text.target))

    monkeypatch.setattr(loop, "validate", validate)
    return weights


LOSSES = [3.0, 2.0, 2.5, 1.9, 2.4, 2.2, 2.0, 1.0]
BLEUS = [10.0, 9.0, 30.0, 20.0, 29.0, 5.0, 40.0, 50.0]


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
    assert end["reason"] == f"{patience} validations without a better {metric}"
    assert_same(contents(folder, "best.pt")["model"], weights[at - 1])
    assert_same(contents(folder, "last.pt")["model"], weights[-1])


def test_of_equal_bleus_the_lower_loss_is_the_better(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = script(monkeypatch, [3.0, 2.0, 2.5], [0.0, 0.0, 0.0])
    folder = finish(make_config("training.validate_every=2", "training.max_updates=6"))
    assert_same(contents(folder, "best.pt")["model"], weights[1])


def test_without_patience_it_goes_on_to_the_end(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = script(monkeypatch, [3.0] * 10, [0.0] * 10)
    folder = finish(make_config("training.validate_every=2"))
    assert len(weights) == 10
    assert_same(contents(folder, "best.pt")["model"], weights[0])


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


def test_a_plateau_survives_a_stop(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = [3.0, 3.1, 3.2, 2.0, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5]
    overrides = [
        "training.schedule={kind: plateau, factor: 0.1, patience: 2}",
        "training.early_stopping={metric: loss, patience: 7}",
        "training.validate_every=2",
        "training.log_every=1",
    ]
    script(monkeypatch, losses, [0.0] * 10)
    straight = finish(make_config(*overrides, "name=straight"))
    script(monkeypatch, losses, [0.0] * 10)
    config = make_config(*overrides)
    run_and_stop(monkeypatch, config, 5)
    assert_same_run(finish(config, resume=True), straight)


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
        ({"max_epochs": 1, "max_updates": 99}, 8, "1 epochs"),
    ],
)
def test_training_ends_where_the_config_says(
    make_config: ConfigMaker, limits: dict[str, Any], updates: int, reason: str
) -> None:
    folder = finish(make_config(*(f"training.{key}={value}" for key, value in limits.items())))
    assert [(event["update"], event["reason"]) for event in events(folder, "end")] == [(updates, reason)]
    assert contents(folder)["training"]["state"]["update"] == updates
    assert events(folder, "validation")[-1]["update"] == updates


def test_a_run_never_overwrites_another(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=2")
    folder = finish(config)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(UserError, match=r"already holds a run; go on with it by --resume, or .* --set name=NAME"):
        finish(config)
    with pytest.raises(UserError, match="already holds a run"):
        finish(make_config("training.seed=5", "data.max_length=3"))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_empty_folder_is_no_run(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=1")
    (Path(config.output_dir) / config.name).mkdir(parents=True)
    assert (finish(config) / "last.pt").exists()


def test_resume_begins_where_there_is_nothing_yet(make_config: ConfigMaker, capsys: pytest.CaptureFixture[str]) -> None:
    folder = finish(make_config("training.max_updates=2"), resume=True)
    assert "does not exist yet: beginning anew" in capsys.readouterr().out
    assert contents(folder)["training"]["state"]["update"] == 2


@pytest.mark.parametrize(
    "override",
    [
        "model.decoder.hidden_size=8",
        "model.decoder.dropout=0.1",
        "data.max_length=5",
        "data.source.lowercase=false",
        "training.optimizer=adamw",
        "training.weight_decay=0.5",
        "training.early_stopping.metric=loss",
    ],
)
def test_resume_with_other_settings_is_refused(make_config: ConfigMaker, override: str) -> None:
    folder = finish(make_config("training.max_updates=1"))
    before = (folder / "last.pt").read_bytes()
    field = override.split("=")[0]
    with pytest.raises(UserError, match=rf"another {field}; resume with that in .*config\.yaml"):
        finish(make_config(override), resume=True)
    assert (folder / "last.pt").read_bytes() == before


def test_resume_with_the_corpus_elsewhere(make_config: ConfigMaker) -> None:
    finish(make_config("training.max_updates=1"))
    folder = finish(make_config("training.max_updates=2", "data.folder=elsewhere", "data.mirror=there"), resume=True)
    assert contents(folder)["training"]["state"]["update"] == 2


def test_a_loss_that_is_not_finite_ends_the_run_with_what_to_do(make_config: ConfigMaker) -> None:
    wild = make_config("training.learning_rate=1e38", "training.clip_norm=null")
    with pytest.raises(UserError, match=r"training\.learning_rate \(1e\+38\) is too high: the loss of update \d+ is"):
        finish(wild)


def test_resume_with_other_text_is_refused(make_config: ConfigMaker, corpus: Path) -> None:
    config = make_config("training.max_updates=1")
    finish(config)
    with (corpus / "train.src").open("a") as source, (corpus / "train.tgt").open("a") as target:
        source.write("neu\n")
        target.write("new\n")
    with pytest.raises(UserError, match="the training text is another"):
        finish(config, resume=True)


def test_resume_with_other_batches_is_refused(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint's place in its epoch means nothing among other batches."""
    run_and_stop(monkeypatch, make_config(), 6)
    for override in ("training.batch_size=12", "training.batch_unit=tokens", "training.seed=2"):
        with pytest.raises(UserError, match="training"):
            finish(make_config(override), resume=True)


def test_bad_input_is_refused_before_anything_is_written(make_config: ConfigMaker, corpus: Path) -> None:
    for override in ("training.device=nowhere", "data.source.train=none.txt", "data.source.validation=none.txt"):
        config = make_config(override)
        with pytest.raises(UserError):
            finish(config)
        assert not Path(config.output_dir).exists()
    (corpus / "train.src").write_text("\n" * 45, encoding="utf-8")
    with pytest.raises(UserError, match="no training pair is left"):
        finish(make_config())
    assert not Path(make_config().output_dir).exists()


def test_bf16_needs_its_kernels(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "HAS_ONEDNN", False)
    with pytest.raises(UserError, match=r"training\.precision: bf16 needs oneDNN"):
        finish(make_config("training.precision=bf16"))


def test_a_person_is_told_what_happens(make_config: ConfigMaker, capsys: pytest.CaptureFixture[str]) -> None:
    config = make_config("training.max_updates=8")
    finish(config)
    out = capsys.readouterr().out
    for fragment in (
        "wiring: bahdanau",
        "45 training pairs, skipped 0 pairs",
        "12 source types, 12 target types",
        "8 batches an epoch, filled to ",
        " parameters, on cpu, 1 threads",
        "epoch 1, update 8, ",
        "BLEU (lower-cased) ",
        "the best so far",
        "    reference   ",
        "Done: 8 updates, in ",
    ):
        assert fragment in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_asks_for_a_stop_and_the_second_stops(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    stop = StopSignals()
    with stop.installed():
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert "Stopping: finishing this update and saving" in capsys.readouterr().err


def test_a_signal_breaks_off_what_can_be_abandoned() -> None:
    stop = StopSignals()

    def work() -> None:
        with stop.abandoning():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
            raise AssertionError("the work went on")

    with stop.installed():
        with pytest.raises(Interrupted):
            work()
        assert stop.requested
        with pytest.raises(Interrupted), stop.abandoning():
            raise AssertionError("work began after a stop was asked for")


def test_a_signal_lets_the_update_finish(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(*HARD)
    stop = StopSignals()
    after_update(monkeypatch, 5, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with stop.installed():
        folder = run(config, stop, resume=False)
    assert contents(folder)["training"]["state"]["update"] == 5
    assert events(folder, "end") == []


def test_metrics_are_cut_back_to_their_size_at_the_checkpoint(tmp_path: Path) -> None:
    with closing(MetricsLog(tmp_path)) as log:
        assert log.size == 0
        log.write("train", 1, 1, loss=1.5)
        size = log.size
        log.write("train", 2, 1, loss=1.25)
    assert (tmp_path / "metrics.jsonl").stat().st_size > size
    with closing(MetricsLog(tmp_path, size)) as log:
        assert log.size == size
        log.write("train", 2, 1, loss=1.0)
        assert log.size == (tmp_path / "metrics.jsonl").stat().st_size
    assert [event["loss"] for event in events(tmp_path)] == [1.5, 1.0]


def test_metrics_that_are_lost_leave_no_gap(tmp_path: Path) -> None:
    """Where the file is shorter than it was at the checkpoint, nothing is put in the missing place."""
    with closing(MetricsLog(tmp_path, 1000)) as log:
        log.write("train", 2, 1, loss=1.0)
    assert [event["loss"] for event in events(tmp_path)] == [1.0]


def test_metrics_hold_valid_json_alone(tmp_path: Path) -> None:
    with closing(MetricsLog(tmp_path)) as log:
        log.write("train", 1, 1, loss=float("nan"), perplexity=float("inf"), best=None, reason="größer", count=3)
    expected = {"event": "train", "update": 1, "epoch": 1, "loss": None, "perplexity": None, "best": None}
    assert events(tmp_path) == [{**expected, "reason": "größer", "count": 3}]
    assert "größer" in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8")


def test_tensorboard_gets_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scalars = []

    class Writer:
        def add_scalar(self, name: str, value: float, step: int) -> None:
            scalars.append((name, value, step))

        def close(self) -> None:
            scalars.append(("closed", 0, 0))

    monkeypatch.setattr(metrics, "_summary_writer", lambda *_: Writer())
    with closing(MetricsLog(tmp_path)) as log:
        log.write("validation", 4, 1, loss=2.0, bleu=30.0)
        log.write("end", 4, 1, reason="4 updates")
    assert scalars == [("validation/loss", 2.0, 4), ("validation/bleu", 30.0, 4), ("closed", 0, 0)]
