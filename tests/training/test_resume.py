"""How runs go on after a stop or a kill: with the same bits, or not at all."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.runs import (
    HARD,
    UPDATES,
    ConfigMaker,
    assert_same,
    assert_same_run,
    contents,
    events,
    finish,
    run_and_kill,
    run_and_stop,
    without_times,
)

from nmt.system.errors import UserError

Straight = Callable[..., Path]


LOCAL = [f"model.attention.{f}" for f in ("wiring=luong", "scope=local_p", "narrow_updates=16", "window=8")]
CASES = {
    "bahdanau": [],
    "luong": ["model.attention.wiring=luong", "model.cell=lstm", "model.encoder.self_attention=2"],
    "no attention": ["model.attention.wiring=none", "model.decoder.readout=maxout"],
    # W_p and v_p wait for their first gradient until update 8.
    "local-p": LOCAL,
    "local-p, momentum": [*LOCAL, "training.optimizer=sgd", "training.momentum=0.5"],
    "local-p, adadelta": [*LOCAL, "training.optimizer=adadelta"],
    "sampled softmax": ["training.sampled_softmax=3"],
}


@pytest.mark.parametrize("overrides", CASES.values(), ids=CASES)
def test_stop_and_resume_change_no_bit(
    make_config: ConfigMaker, straight: Straight, monkeypatch: pytest.MonkeyPatch, overrides: list[str]
) -> None:
    """10 updates = 6 + stop + 3 + stop + 1, with dropout, scheduled sampling, accumulation, in mid-epoch."""
    config = make_config(*HARD, *overrides)
    folder = run_and_stop(monkeypatch, config, 6)
    state = contents(folder)["training"]["state"]
    assert (state["update"], state["epoch"], state["batch"]) == (6, 1, 4)
    torch.manual_seed(99)  # whatever the process did before
    run_and_stop(monkeypatch, config, 9, resume=True)
    assert finish(config, resume=True) == folder
    assert contents(folder)["training"]["state"]["update"] == UPDATES
    assert_same_run(folder, straight(*overrides))


def test_kill_and_resume_change_no_bit(
    make_config: ConfigMaker, straight: Straight, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded after the checkpoint is computed and recorded again, once."""
    config = make_config(*HARD)
    folder = Path(config.output_dir) / config.name
    for killed_at, saved in ((2, None), (8, 6), (7, 6), (10, 9)):
        run_and_kill(monkeypatch, config, killed_at, resume=folder.exists())
        assert len(events(folder, "train")) == killed_at - 1
        if saved is None:
            assert not (folder / "last.safetensors").exists()
        else:
            assert contents(folder)["training"]["state"]["update"] == saved
    finish(config, resume=True)
    assert_same_run(folder, straight())


def test_a_finished_run_goes_on_with_a_later_end(make_config: ConfigMaker, straight: Straight) -> None:
    schedule = "training.schedule={kind: inverse_sqrt, warmup: 3}"  # the cosine's rate depends on the end
    folder = finish(make_config(*HARD, schedule, "training.max_updates=6"))
    assert [event["reason"] for event in events(folder, "end")] == ["6 updates"]
    finish(make_config(*HARD, schedule), resume=True)
    assert [event["reason"] for event in events(folder, "end")] == ["10 updates"]
    whole = straight(schedule)
    assert_same(contents(folder)["model"], contents(whole)["model"])
    assert_same(contents(folder)["training"]["optimizer"], contents(whole)["training"]["optimizer"])
    assert without_times(events(folder, "train")) == without_times(events(whole, "train"))


def test_resuming_a_finished_run_changes_nothing(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=4", "training.log_every=3")  # the last event comes at the end
    folder = finish(config)
    before = contents(folder), contents(folder, "best.safetensors"), without_times(events(folder))
    finish(config, resume=True)
    assert_same(before, (contents(folder), contents(folder, "best.safetensors"), without_times(events(folder))))


def test_resume_with_other_settings_is_refused(make_config: ConfigMaker) -> None:
    sgd = "training.optimizer=sgd"
    folder = finish(make_config("training.max_updates=1", sgd))
    before = (folder / "last.safetensors").read_bytes()
    for override in (
        *("model.decoder.dropout=0.1", "data.max_length=5", "training.optimizer=adamw", "training.momentum=0.5"),
        *("training.early_stopping.metric=loss", "training.batch_size=12", "search.beam_size=3"),
        "data.normalize=false",
    ):
        field = override.split("=")[0]
        with pytest.raises(UserError, match=rf"another {field}: resume with the one in .*config\.yaml"):
            finish(make_config(sgd, override), resume=True)
    assert (folder / "last.safetensors").read_bytes() == before


def test_resume_with_the_text_elsewhere_or_another_one(make_config: ConfigMaker, corpus: Path, tmp_path: Path) -> None:
    finish(make_config("training.max_updates=1"))
    moved = [f"data.folder={tmp_path / 'elsewhere'}"]
    for side, ending in (("source", "src"), ("target", "tgt")):
        for split in ("train", "validation", "test"):
            path = shutil.move(corpus / f"{split}.{ending}", tmp_path / f"moved-{split}.{ending}")
            moved.append(f"data.{side}.{split}={path}")
    config = make_config("training.max_updates=2", *moved)
    assert contents(finish(config, resume=True))["training"]["state"]["update"] == 2
    for split, verb in (("validation", "validated"), ("train", "trained")):  # the same pairs in another order
        for path in (tmp_path / f"moved-{split}.src", tmp_path / f"moved-{split}.tgt"):
            path.write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[::-1]) + "\n", encoding="utf-8")
        with pytest.raises(UserError, match=rf"last\.safetensors was {verb} on another text, or with other tokens"):
            finish(config, resume=True)
