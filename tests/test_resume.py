"""How runs go on after a stop or a kill: with the same bits, or not at all."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from runs import (
    HARD,
    ConfigMaker,
    after_update,
    assert_same,
    assert_same_run,
    contents,
    events,
    finish,
    run_and_kill,
    run_and_stop,
    script,
    without_times,
)

from nmt import checkpoint_file
from nmt.data.corpus import ParallelText
from nmt.errors import UserError
from nmt.training import prepare, validation
from nmt.training.interruption import StopSignals
from nmt.training.run import run


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


@pytest.mark.parametrize("harm", ["cut", "altered", "missing"])
def test_resume_falls_back_to_the_checkpoint_before(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], harm: str
) -> None:
    straight = finish(make_config(*HARD, "name=straight"))
    config = make_config(*HARD, "name=stopped")
    folder = run_and_stop(monkeypatch, config, 10)
    assert contents(folder, "previous.pt")["training"]["state"]["update"] == 9
    last = folder / "last.pt"
    data = last.read_bytes()
    match harm:
        case "cut":
            last.write_bytes(data[:-1])
        case "altered":
            last.write_bytes(data.replace(b"a", b"b", 1))
        case "missing":  # what a kill between the two renamings of a save leaves
            last.unlink()
    assert_same_run(finish(config, resume=True), straight)
    said = capsys.readouterr().err
    assert str(last) in said
    assert f"Going on from the checkpoint before it, {folder / 'previous.pt'}" in said
    assert (folder / "damaged.pt").exists() is (harm != "missing")


def test_resume_without_a_whole_checkpoint_is_refused(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=1")
    folder = finish(config)
    (folder / "last.pt").write_bytes(b"no checkpoint")
    before = (folder / "metrics.jsonl").read_bytes()
    with pytest.raises(UserError, match=r"last\.pt is no whole checkpoint"):
        finish(config, resume=True)
    assert (folder / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda t: t["state"].update(update="many"), "state.update: "),
        (lambda t: t.update(optimizer={}), None),
        (lambda t: t["optimizer"].pop(0), "exp_avg of parameter 0 is nothing, but real numbers"),
        (lambda t: t["optimizer"][0].update(exp_avg=torch.zeros(2)), "exp_avg of parameter 0 is real numbers of shape"),
        (lambda t: t["optimizer"].update({99: {"step": torch.zeros(())}}), "step of parameter 99 is real numbers of"),
        (lambda t: t.update(optimizer={0: 5}), "optimizer.0: input should be a valid dictionary"),
        (lambda t: t.update(average={"x": torch.zeros(3)}), "average: x is real numbers of shape"),
        (lambda t: t.update(random=[torch.zeros(3)]), "random generator cannot be used"),
        (
            lambda t: t.update(random=2 * t["random"]),
            "trained by 2 processes, and now there are 1: resume",
        ),
        (lambda t: t.update(metrics_size=None), "metrics_size: "),
        (lambda t: t.pop("random_cuda"), "random_cuda: missing"),
        (lambda t: t.update(more=1), "more: "),
    ],
)
def test_a_training_state_that_does_not_fit_is_refused(
    make_config: ConfigMaker, alter: Callable[[dict[str, Any]], object], said: str | None
) -> None:
    config = make_config("training.max_updates=2")
    folder = finish(config)
    found = checkpoint_file.read(folder / "last.pt")
    alter(found["training"])
    checkpoint_file.write(folder / "last.pt", found)
    if said is None:  # as before the first update
        finish(config, resume=True)
        return
    with pytest.raises(UserError) as caught:
        finish(config, resume=True)
    assert str(caught.value).startswith(str(folder / "last.pt"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_for_translation_alone_cannot_be_resumed(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=2")
    folder = finish(config)
    (folder / "last.pt").write_bytes((folder / "best.pt").read_bytes())
    with pytest.raises(UserError, match=r"last\.pt .* best\.pt"):
        finish(config, resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_two_runs_never_share_a_folder(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, *, resume: bool
) -> None:
    config = make_config("training.max_updates=3")
    refusals = []

    def begin_another() -> None:
        with pytest.raises(UserError) as caught:
            run(config, StopSignals(), resume=resume)
        refusals.append(str(caught.value))

    with monkeypatch.context() as patch:
        after_update(patch, 2, begin_another)
        folder = finish(config)
    expected = "is in use by another run: wait for it, or stop it" if resume else "already holds a run"
    assert refusals == [f"{folder} {expected}"] or expected in refusals[0]
    assert contents(folder)["training"]["state"]["update"] == 3


def test_a_run_that_begins_while_another_prepares_is_refused(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both found the folder free; the second comes to it when the first has ended."""
    config = make_config("training.max_updates=2")
    real = prepare.load_split
    begun = []

    def load_split(*arguments: Any) -> ParallelText:
        if not begun:
            begun.append(True)
            begun.append(finish(config))
        return real(*arguments)

    monkeypatch.setattr(prepare, "load_split", load_split)
    with pytest.raises(UserError, match="already holds a run"):
        finish(config)
    assert contents(begun[1])["training"]["state"]["update"] == 2


def test_what_kills_left_half_written_is_removed(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=1")
    folder = finish(config)
    (folder / ".last.pt.123.tmp").write_bytes(b"half")
    finish(config, resume=True)
    assert list(folder.glob("*.tmp")) + list(folder.glob(".*")) == []
