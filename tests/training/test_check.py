"""`nmt train --check`."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.runs import ConfigMaker, finish

from nmt.cli import main
from nmt.config.reading import to_yaml
from nmt.system.errors import UserError
from nmt.training.loss import BatchLoss, Loss
from nmt.training.run import check


def test_it_reports_the_run_and_makes_none(make_config: ConfigMaker, capsys: pytest.CaptureFixture[str]) -> None:
    config = make_config("data.source.test=null", "data.target.test=null", "training.accumulate=2")
    path = Path(config.output_dir).parent / "checked.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    assert main(["train", str(path), "--check"]) == 0
    printed = capsys.readouterr().out
    for fragment in (
        "bahdanau wiring",
        "45 training pairs (skipped 0 pairs",
        "GiB with the largest batch (6 sentences with up to 8 source and 8 target tokens), of ",
        "Time: at most ",
        f"Everything checked out. The run would be saved in {Path(config.output_dir) / 'tiny'}",
    ):
        assert fragment in printed
    assert not Path(config.output_dir).exists()


def test_the_memory_is_that_of_a_real_update(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    real = BatchLoss.forward

    def forward(losses: Any, batch: Any, *arguments: Any) -> Loss:
        sizes.append(batch.source.numel() + batch.target_input.numel())
        return real(losses, batch, *arguments)

    monkeypatch.setattr(BatchLoss, "forward", forward)
    check(make_config("training.accumulate=3"), resume=False)
    largest = sizes[0]
    assert sizes[:2] == [largest] * 2  # gradients of a third batch are added in place
    assert len(sizes) == 2 + 10  # updates that are timed
    sizes.clear()
    finish(make_config("training.max_epochs=1"))
    assert largest == max(sizes)


def test_what_a_run_would_refuse_is_refused(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = finish(make_config("training.max_updates=1", "training.checkpoint_every=1")) / "last.safetensors"
    for overrides, message in (
        (["training.seed=5"], r"was trained with another training\.seed"),
        (["name=other", "data.source.train=none.txt"], "does not exist"),
        (["name=other", f"output_dir={corpus / 'train.src' / 'runs'}"], r"train\.src/runs/other cannot be written: "),
    ):
        with pytest.raises(UserError, match=message):
            check(make_config(*overrides), resume=overrides[0] != "name=other")
    with pytest.raises(UserError, match="already holds a run"):
        check(make_config(), resume=False)
    last.write_bytes(b"cut")
    check(make_config(), resume=True)
    printed = capsys.readouterr()
    assert "Continuing from the checkpoint before it" in printed.err
    assert "Everything checked out" in printed.out
    assert last.read_bytes() == b"cut"
    monkeypatch.setattr(BatchLoss, "forward", lambda *_: torch.empty(2**60))
    for begin in (lambda config: check(config, resume=False), finish):
        with pytest.raises(UserError, match="update 1: out of memory for a batch of 6 sentences"):
            begin(make_config("name=other"))
    (corpus / "validation.src").write_text(" \n" * 9, encoding="utf-8")
    with pytest.raises(UserError, match=r"validation\.src and .*validation\.tgt: no pair has text on both sides"):
        check(make_config("name=third"), resume=False)
