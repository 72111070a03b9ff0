"""Whole runs, of a tiny model on a made-up language: their events, their output and their files."""

import itertools
import math
from collections import Counter
from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest
import torch
from support.runs import LOSSES, ConfigMaker, assert_same, contents, events, finish, run_and_stop, script

from nmt.checkpoint import contents as checkpoint
from nmt.config.reading import load_config
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.training import loop
from nmt.training.loss import BatchLoss, Loss
from nmt.training.update import TrainState
from nmt.translator import Translator


def test_the_moving_average_is_validated_and_kept(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    validated = script(monkeypatch, LOSSES, [float(n) for n in range(1, 9)])
    folder = finish(make_config("training.moving_average=0.5", "training.max_updates=8"))
    last = contents(folder)
    average = last["training"]["average"]
    assert_same(contents(folder, "best.safetensors")["model"], average)
    assert_same(validated[-1], average)
    assert not torch.equal(last["model"]["decoder.output.weight"], average["decoder.output.weight"])


def test_the_events_the_screen_and_the_folder_of_a_run(
    make_config: ConfigMaker, text: dict[str, ParallelText], capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config("training.log_every=3")
    folder = finish(config)
    common = {"event", "update", "epoch"}
    speeds = {"source_tokens_per_second", "target_tokens_per_second"}
    attention = {f"attention_{name}" for name in ("entropy", "unattended", "overattended", "deviation")}
    fields = {
        "train": common | {"loss", "perplexity", "learning_rate", "skipped"} | speeds,
        "validation": common | {"loss", "perplexity", "bleu", "repetitive", "seconds", "examples", *attention},
        "end": common | {"reason", "best", "seconds"},
    }
    assert all(event.keys() == fields[event["event"]] for event in events(folder))
    train, validations, end = (events(folder, kind) for kind in fields)
    assert [(e["update"], e["epoch"]) for e in train] == [(3, 1), (6, 1), (9, 2), (12, 2), (15, 2), (18, 3), (20, 3)]
    assert [(e["update"], e["epoch"]) for e in validations] == [(8, 1), (16, 2), (20, 3)]
    assert [(e["update"], e["epoch"], e["reason"]) for e in end] == [(20, 3, "20 updates")]
    for event in train + validations:
        assert event["perplexity"] == pytest.approx(math.exp(event["loss"]))
    assert all(event["skipped"] == 0 < min(event[speed] for speed in speeds) for event in train)
    assert all(e.keys() == {"source", "reference", "hypothesis"} for event in validations for e in event["examples"])
    assert end[0]["best"] == max(event["bleu"] for event in validations)
    assert train[-1]["loss"] < train[0]["loss"]
    printed = capsys.readouterr().out
    for fragment in (
        f"Run         {Path(config.output_dir) / 'tiny'} (all settings are in its config.yaml)",
        "Corpus      files, de→en: 45 training pairs (skipped 0 pairs: ",
        "Vocabulary  12 source tokens, 12 target tokens",
        "Model       bahdanau wiring, additive score, global scope; ",
        "Training    20 updates; 8 batches per epoch",
        "Device      cpu, 1 thread, float32",
        "epoch 1, update 3/20: loss ",
        "BLEU (lower-cased) ",
        "    reference   ",
        "Done: 20 updates, in ",
    ):
        assert fragment in printed
    names = {path.name for path in folder.iterdir()}
    assert names == {"best.safetensors", "last.safetensors", "previous.safetensors", "metrics.jsonl", "config.yaml"}
    assert load_config(folder / "config.yaml") == config
    best = checkpoint.load(folder / "best.safetensors", torch.device("cpu"))
    search = config.search.model_copy(update={"split": True})  # the training lines are single sentences
    assert (best.config, best.training) == (config.model_copy(update={"search": search}), None)
    assert len(Translator.load(folder / "best.safetensors").translate(text["test"].source)) == len(text["test"].source)


def test_each_update_is_counted_once_and_made_in_training_mode(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `train` event holds the summed likelihood since the last one, per token; also after validation and resuming."""
    made, modes = [], []
    real = loop.update

    def update(*arguments: Any) -> float:
        modes.append({module.training for module in arguments[0].model.modules()})
        nll = real(*arguments)
        made.append((nll, sum(batch.target_tokens for batch in arguments[1])))
        return nll

    monkeypatch.setattr(loop, "update", update)
    config = make_config("training.max_updates=9", "training.accumulate=3", "training.validate_every=2")
    run_and_stop(monkeypatch, config, 3)
    folder = finish(config, resume=True)
    groups = [made[:4], made[4:8], made[8:]]
    expected = [sum(nll for nll, _ in group) / sum(tokens for _, tokens in group) for group in groups]
    assert [event["loss"] for event in events(folder, "train")] == pytest.approx(expected)
    # An epoch of 8 batches: 3, 3 and 2.
    assert sum(tokens for _, tokens in made[:3]) == sum(tokens for _, tokens in made[3:6])
    assert modes == [{True}] * 9


def break_updates(monkeypatch: pytest.MonkeyPatch, updates: Container[int], what: str = "loss") -> None:
    """Let the loss or the gradients of these updates not be finite."""
    count = itertools.count(1)
    real = BatchLoss.forward

    def forward(*arguments: Any) -> Loss:
        loss = real(*arguments)
        if torch.is_inference_mode_enabled() or next(count) not in updates:
            return loss
        if what == "loss":
            return Loss(loss.smoothed * math.nan, loss.nll * math.nan)
        loss.smoothed.register_hook(lambda gradient: gradient * math.inf)
        return loss

    monkeypatch.setattr(BatchLoss, "forward", forward)


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_an_update_that_is_not_finite_is_skipped_and_counted(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    config = make_config("training.log_every=5", "training.checkpoint_every=1", "training.validate_every=99")
    saved: list[dict[str, Any]] = []
    real = loop.save

    def save(*arguments: Any) -> None:
        real(*arguments)
        saved.append(contents(Path(config.output_dir) / config.name)["model"])

    monkeypatch.setattr(loop, "save", save)
    break_updates(monkeypatch, {3, 4, 11, *range(16, 20)}, what)
    folder = finish(config)
    assert [event["skipped"] for event in events(folder, "train")] == [2, 0, 1, 4]
    assert all(math.isfinite(event["loss"]) for event in events(folder, "train"))
    for after_three_or_four in saved[2:4]:
        assert_same(saved[1], after_three_or_four)
    assert not torch.equal(saved[3]["decoder.output.weight"], saved[4]["decoder.output.weight"])
    assert "update 11 skipped: its loss or gradient is not finite" in capsys.readouterr().out


def test_weights_that_are_not_finite_are_never_kept(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    real = loop.update

    def grow(train_state: TrainState, *arguments: Any) -> float:
        next(train_state.model.parameters()).data.fill_(2e9)  # finite, but its products are not
        return real(train_state, *arguments)

    wild = make_config("training.checkpoint_every=1")
    early = make_config("name=early", "training.max_updates=6", "training.validate_every=99")
    too_high = r"training\.learning_rate .*is too high"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "update", grow)
        with pytest.raises(UserError, match=rf"{too_high}.* training\.checkpoint_every"):
            finish(wild)
    with monkeypatch.context() as patch:
        break_updates(patch, {2, 3, 4, 5, 6})
        with pytest.raises(UserError, match=rf"{too_high}: at update 4, 3 updates in a row were skipped"):
            finish(early)
    far = make_config("name=far", "training.max_updates=2", "training.learning_rate=1e6")
    with pytest.raises(
        UserError, match=rf"{too_high}: at update 2, the validation loss is .*; lower it, and start over"
    ):
        finish(far)
    assert not (Path(far.output_dir) / "far" / "best.safetensors").exists()
    for config in (wild, early):
        files = {path.name for path in (Path(config.output_dir) / config.name).iterdir()}
        assert files == {"config.yaml", "metrics.jsonl"}
    often = ("name=ten", "training.checkpoint_every=4", "training.validate_every=99", "training.log_every=1")
    break_updates(monkeypatch, {2, *range(6, 99)})
    with pytest.raises(
        UserError, match=r"learning_rate .* update 15, 10 updates in a row .* resume from .*last\.safetensors"
    ):
        finish(make_config(*often))
    last = contents(Path(wild.output_dir) / "ten")
    assert last["training"]["state"]["update"] == 12
    assert all(weight.isfinite().all() for weight in last["model"].values())


def test_bad_input_is_refused_before_anything_is_written(make_config: ConfigMaker, corpus: Path) -> None:
    for override in ("training.device=nowhere", "data.source.train=none.txt", "data.source.validation=none.txt"):
        with pytest.raises(UserError):
            finish(make_config(override))
    (corpus / "train.src").write_text("\n" * 45, encoding="utf-8")
    with pytest.raises(UserError, match="no training pair is left"):
        finish(make_config())
    assert not Path(make_config().output_dir).exists()


def test_what_no_model_can_write_and_what_bleu_cannot_say(
    make_config: ConfigMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, lines in (("short.src", ["Ba De", "Fi Go Hu"]), ("short.tgt", ["lom kip", "pes nar mun"])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    short = [
        f"data.{side}.validation={tmp_path / f'short.{end}'}" for side, end in (("source", "src"), ("target", "tgt"))
    ]
    config = make_config("training.max_updates=8", "data.target.vocabulary_size=5", *short)
    log = events(finish(config), "validation")
    assert all(event["bleu"] == 0 and 0 <= event["chrf"] <= 100 for event in log)
    printed = capsys.readouterr()
    assert f"chrF {log[-1]['chrf']:.2f} (BLEU is undefined)" in printed.out
    target = (Path(config.data.target.train or "")).read_text(encoding="utf-8").splitlines()
    words = Counter(" ".join(target).split()).most_common(5)
    writable = [set(line.split()) <= {word for word, _ in words} for line in target]
    share = 100 * (1 - sum(writable) / len(target))
    assert f"data.target: a model cannot write {share:.1f} % of the training lines as they are: " in printed.err
    finish(make_config("name=all", "training.max_updates=8"))
    assert "cannot write" not in capsys.readouterr().err
