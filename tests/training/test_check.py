"""`nmt train --check`."""

import re
import resource
from pathlib import Path
from typing import Any

import pytest
import torch
from support.runs import ConfigMaker, finish

from nmt.cli import main
from nmt.config.reading import to_yaml
from nmt.fast.worker import Worker
from nmt.system.errors import UserError
from nmt.training import run as check_module
from nmt.training.loss import BatchLoss, Loss
from nmt.training.run import check
from nmt.training.train_state import TrainState


def test_it_says_what_a_run_would_be_and_makes_none(
    make_config: ConfigMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config("data.source.test=null", "data.target.test=null", "training.accumulate=2")
    path = Path(config.output_dir).parent / "checked.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    assert main(["train", str(path), "--check"]) == 0
    said = capsys.readouterr().out
    for part in (
        "bahdanau wiring",
        "45 training pairs (skipped 0 pairs",
        "GiB with the largest batch (6 sentences with up to 8 source and 8 target tokens), of ",
        f"Everything checked out. The run would be saved in {Path(config.output_dir) / 'tiny'}",
    ):
        assert part in said
    assert not Path(config.output_dir).exists()


def test_a_run_that_would_go_on_from_the_checkpoint_before_is_well(
    make_config: ConfigMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config("training.checkpoint_every=5")
    last = finish(config) / "last.safetensors"
    last.write_bytes(b"cut")
    check(config, resume=True)
    said = capsys.readouterr()
    assert "A run would continue from" in said.err
    assert "Everything checked out" in said.out
    assert last.read_bytes() == b"cut"


def test_the_memory_is_that_of_a_real_update(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    real = BatchLoss.forward

    def forward(losses: Any, batch: Any, *arguments: Any) -> Loss:
        taken.append(batch.source.numel() + batch.target_input.numel())
        return real(losses, batch, *arguments)

    monkeypatch.setattr(BatchLoss, "forward", forward)
    check(make_config("training.accumulate=3"), resume=False)
    largest = taken[0]
    assert taken == [largest] * 2  # gradients of a third batch are added in place
    taken.clear()
    finish(make_config("training.max_epochs=1"))
    assert largest == max(taken)


@pytest.mark.skipif(not Worker.is_possible(), reason="this system has no memory to share")
def test_the_memory_is_that_of_both_processes(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []
    real = check_module.update

    def update(train_state: TrainState, *arguments: Any, **more: Any) -> Any:
        before = train_state.add_gradient.worker
        result = real(train_state, *arguments, **more)
        seen.append((before, train_state.add_gradient.worker.peak_memory))
        return result

    monkeypatch.setattr(check_module, "update", update)
    check(make_config("training.batch_size=40", "training.threads=2"), resume=False)
    [(before, after)] = seen
    assert before is None
    assert 2**26 < after < 2**33  # PyTorch alone takes some hundred MiB
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    [printed] = re.findall(r"Memory: ([\d.]+) GiB", capsys.readouterr().out)
    assert float(printed) == pytest.approx((own + after) / 2**30, abs=0.06)


def test_what_a_run_would_refuse_is_refused(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    finish(make_config("training.max_updates=1"))
    with pytest.raises(UserError, match="already holds a run"):
        check(make_config(), resume=False)
    check(make_config(), resume=True)
    with pytest.raises(UserError, match=r"was trained with another training\.seed"):
        check(make_config("training.seed=5"), resume=True)
    with pytest.raises(UserError, match="does not exist"):
        check(make_config("name=other", "data.source.train=none.txt"), resume=False)
    with pytest.raises(UserError, match=r"train\.src/runs/tiny cannot be written: .* choose another output_dir"):
        check(make_config(f"output_dir={corpus / 'train.src' / 'runs'}"), resume=False)
    with monkeypatch.context() as patch:
        patch.setattr(BatchLoss, "forward", lambda *_: torch.empty(2**60))
        with pytest.raises(UserError, match="out of memory for a batch of 6 sentences"):
            check(make_config("name=other"), resume=False)
    (corpus / "validation.src").write_text(" \n" * 9, encoding="utf-8")
    with pytest.raises(UserError, match=r"validation\.src and .*validation\.tgt: no pair has text on both sides"):
        check(make_config("name=other"), resume=False)
