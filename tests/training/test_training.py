"""Whole runs, of a tiny model on a made-up language: their events, their output and their files."""

import itertools
import math
from collections.abc import Container
from importlib.util import find_spec
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
from nmt.translator import Translator


def test_the_moving_average_is_validated_and_kept(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    validated = script(monkeypatch, LOSSES, [float(n) for n in range(1, 9)])
    folder = finish(make_config("training.moving_average=0.5", "training.max_updates=8"))
    last = contents(folder)
    average = last["training"]["average"]
    assert_same(contents(folder, "best.safetensors")["model"], average)
    assert_same(validated[-1], average)
    assert not torch.equal(last["model"]["decoder.output.weight"], average["decoder.output.weight"])


def test_events_have_their_fields(make_config: ConfigMaker) -> None:
    folder = finish(make_config("training.log_every=3"))
    common = {"event", "update", "epoch"}
    speeds = {"source_tokens_per_second", "target_tokens_per_second"}
    fields = {
        "train": common | {"loss", "perplexity", "learning_rate", "skipped"} | speeds,
        "validation": common | {"loss", "perplexity", "bleu", "seconds", "examples"},
        "end": common | {"reason", "best", "seconds"},
    }
    assert all(event.keys() == fields[event["event"]] for event in events(folder))
    train, validations, end = (events(folder, kind) for kind in fields)
    assert [(e["update"], e["epoch"]) for e in train] == [(3, 1), (6, 1), (9, 2), (12, 2), (15, 2), (18, 3), (20, 3)]
    assert [(e["update"], e["epoch"]) for e in validations] == [(8, 1), (16, 2), (20, 3)]
    assert [(e["update"], e["epoch"], e["reason"]) for e in end] == [(20, 3, "20 updates")]
    for event in train + validations:
        assert event["perplexity"] == pytest.approx(math.exp(event["loss"]))
        assert 0 < event["loss"] < 10
    assert all(event["skipped"] == 0 < min(event[speed] for speed in speeds) for event in train)
    assert all(0 <= event["bleu"] <= 100 for event in validations)
    assert all(e.keys() == {"source", "reference", "hypothesis"} for event in validations for e in event["examples"])
    assert end[0]["best"] == max(event["bleu"] for event in validations)
    assert train[-1]["loss"] < train[0]["loss"]


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


def test_the_folder_holds_all_that_it_promises(make_config: ConfigMaker, text: dict[str, ParallelText]) -> None:
    config = make_config("training.max_updates=3")
    folder = finish(config)
    assert folder == Path(config.output_dir) / "tiny"
    names = {path.name for path in folder.iterdir()}
    assert names == {"best.safetensors", "last.safetensors", "previous.safetensors", "metrics.jsonl", "config.yaml"}
    assert load_config(folder / "config.yaml") == config
    best = checkpoint.load(folder / "best.safetensors", torch.device("cpu"))
    assert best.config == config
    assert best.training is None
    assert len(Translator.load(folder / "best.safetensors").translate(text["test"].source)) == len(text["test"].source)


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


def break_updates(monkeypatch: pytest.MonkeyPatch, updates: Container[int], what: str) -> None:
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
    wild = make_config("training.learning_rate=1e38", "training.clip_norm=null", "training.checkpoint_every=1")
    with pytest.raises(UserError, match=r"training\.learning_rate .*is too high.* training\.checkpoint_every"):
        finish(wild)
    assert {path.name for path in (Path(wild.output_dir) / wild.name).iterdir()} == {"config.yaml", "metrics.jsonl"}
    often = ("name=ten", "training.checkpoint_every=4", "training.validate_every=99", "training.log_every=1")
    break_updates(monkeypatch, {2, *range(6, 99)}, "loss")
    with pytest.raises(
        UserError, match=r"learning_rate .* up to update 15, 10 in a row .* resume from .*last\.safetensors"
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


def test_a_batch_too_large_for_the_memory_is_named(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchLoss, "forward", lambda *_: torch.empty(2**60))
    with pytest.raises(
        UserError, match=r"update 1: out of memory for a batch of 6 sentences .* lower training\.batch_"
    ):
        finish(make_config())


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_plain_pytorch_trains_to_the_same_losses(make_config: ConfigMaker, precision: str) -> None:
    fields = [f"model.{part}=0" for part in ("embedding_dropout", "encoder.dropout", "decoder.dropout")]
    fields += [f"training.precision={precision}"]
    losses = []
    for name, fast in (("fast", "true"), ("plain", "false")):
        folder = finish(make_config("training.max_updates=8", f"name={name}", f"training.fast={fast}", *fields))
        losses.append([event["loss"] for event in events(folder) if "loss" in event])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4 if precision == "float32" else 2e-2)


def test_a_run_is_reported_on_one_screen(make_config: ConfigMaker, capsys: pytest.CaptureFixture[str]) -> None:
    config = make_config("training.max_updates=8")
    finish(config)
    out = capsys.readouterr().out
    for fragment in (
        f"Run         {Path(config.output_dir) / 'tiny'} (all settings are in its config.yaml)",
        "Corpus      files, de→en: 45 training pairs (skipped 0 pairs: ",
        "Vocabulary  12 source tokens, 12 target tokens",
        "Model       bahdanau wiring, additive score, global scope; ",
        "Training    8 updates; 8 batches per epoch",
        "Device      cpu, 1 thread, float32",
        "epoch 1, update 8, ",
        "BLEU (lower-cased) ",
        "the best so far",
        "    reference   ",
        "Done: 8 updates, in ",
    ):
        assert fragment in out
    before = out.partition("epoch 1, update 4/8: loss ")[0]
    assert 7 < before.count("\n") < 24
    assert "data.corpus=files" in before
    assert "clip_norm" not in before
    assert ("Curves" in before) is (find_spec("tensorboard") is not None)
