"""What training keeps in its checkpoints, and what `nmt select` adds to those that have none."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.runs import ConfigMaker, finish

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main
from nmt.config.run import Config
from nmt.selection import lexical
from nmt.selection.lexical import Selection
from nmt.training import validation
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
CPU = torch.device("cpu")
SHORT = ("training.max_updates=2", "training.checkpoint_every=1")


def test_a_run_learns_a_selection_and_an_older_checkpoint_gets_the_same(
    tmp_path: Path, make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("SMALL", 5), ("LIKELIEST", 2), ("FREQUENT", 1)):
        monkeypatch.setattr(lexical, name, value)
    used = []

    class Noting(Translator):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            used.append(self.selection)

    monkeypatch.setattr(validation, "Translator", Noting)
    folder = finish(make_config("name=new", "search.vocabulary_selection=true", *SHORT))
    best, last = (checkpoint.load(folder / name, CPU).selection for name in ("best.pt", "last.pt"))
    older = finish(make_config("name=older", *SHORT))
    assert checkpoint.load(older / "best.pt", CPU).selection is None
    output = tmp_path / "selected.pt"
    assert main(["select", str(older / "best.pt"), "--output", str(output)]) == 0
    selected = checkpoint.load(output, CPU).selection
    validated = used[0]
    assert best is not None
    for other in (last, validated, selected):
        assert other is not None
        assert all(torch.equal(a, b) for a, b in zip(best, other, strict=True))
    assert used[-1] is None
    monkeypatch.undo()
    capsys.readouterr()
    assert main(["select", str(older / "best.pt"), "--output", str(tmp_path / "other.pt")]) == 2
    message = capsys.readouterr().err
    assert "best.pt: with 12 target types there is nothing to gain" in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32])
def test_a_selection_comes_back_and_older_files_have_none(
    tmp_path: Path, make_translator: Maker, dtype: torch.dtype
) -> None:
    config, translator = make_translator()
    saved = tmp_path / "saved.pt"
    checkpoint.save(saved, config, translator.source, translator.target, translator.model)
    likeliest = torch.arange(len(translator.source.vocabulary), dtype=dtype).unsqueeze(1) % 5
    selection = Selection(likeliest, torch.tensor([7, 5], dtype=dtype))
    checkpoint.set_selection(saved, tmp_path / "selected.pt", selection)
    loaded = Translator.load(tmp_path / "selected.pt", device="cpu")
    assert loaded.selection is not None
    for one, other in zip(loaded.selection, selection, strict=True):
        assert torch.equal(one, other)
        assert one.dtype == dtype
    contents = checkpoint_file.read(saved)
    assert contents.pop("selection") is None
    checkpoint_file.write(saved, contents | {"format": 2})
    assert Translator.load(saved, device="cpu").selection is None
