"""The vocabulary selection that training keeps in its checkpoints."""

import pytest
import torch
from support.runs import ConfigMaker, finish

from nmt.checkpoint import contents as checkpoint
from nmt.data import ibm1
from nmt.training import validation
from nmt.translator import Translator

CPU = torch.device("cpu")
SHORT = ("training.max_updates=2", "training.checkpoint_every=1")


def test_a_run_learns_a_selection_unless_it_is_off(make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SMALL", 5), ("LIKELIEST", 2), ("FREQUENT", 1)):
        monkeypatch.setattr(ibm1, name, value)
    used = []

    class Noting(Translator):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)
            used.append(self.shortlist)

    monkeypatch.setattr(validation, "Translator", Noting)
    folder = finish(make_config("name=new", "search.vocabulary_selection=true", *SHORT))
    best, last = (checkpoint.load(folder / name, CPU).selection for name in ("best.safetensors", "last.safetensors"))
    assert best is not None
    for other in (last, used[0]):
        assert other is not None
        assert all(torch.equal(a, b) for a, b in zip(best, other, strict=True))
    without = finish(make_config("name=without", *SHORT))
    assert checkpoint.load(without / "best.safetensors", CPU).selection is None
    assert used[-1] is None
