"""Families of parts: what is found in a folder, and what the config makes of it."""

import sys
from pathlib import Path

import pytest

from nmt.model.scopes import SCOPES
from nmt.model.scores import SCORES
from nmt.optimizers import OPTIMIZERS
from nmt.registry import Part, Section, family, options_of, section_of
from nmt.schedules.learning_rate import LEARNING_RATE_SCHEDULES
from nmt.schedules.teacher_forcing import TEACHER_FORCING_SCHEDULES
from nmt.text.tokenizers import TOKENIZERS

FAMILIES = {
    "scores": (SCORES, "additive concat dot general linear location scaled_dot scaled_general"),
    "scopes": (SCOPES, "global local_m local_p"),
    "tokenizers": (TOKENIZERS, "char sentencepiece spacy whitespace"),
    "learning rate": (LEARNING_RATE_SCHEDULES, "constant cosine halving inverse_sqrt plateau trapezoid"),
    "optimizers": (OPTIMIZERS, "adadelta adam adamw sgd"),
    "teacher forcing": (TEACHER_FORCING_SCHEDULES, "constant exponential inverse_sigmoid linear"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_parts_that_configs_name_are_found(name: str) -> None:
    parts, expected = FAMILIES[name]
    assert set(expected.split()) <= set(parts)
    for part in parts.values():
        assert issubclass(options_of(part), Section)
        assert part.__doc__


class Sum(Part):
    class Options(Section):
        size: int = 3

    def add(self, number: int) -> int:
        raise NotImplementedError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty package `sums`."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "made_up_base", sys.modules[__name__])
    for name in [name for name in sys.modules if name.split(".")[0] == "sums"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "sums").mkdir()
    (tmp_path / "sums" / "__init__.py").touch()
    return tmp_path / "sums"


def test_a_new_file_is_a_new_part(package: Path) -> None:
    part = "from made_up_base import Sum\n\n\nclass {name}(Sum):\n    pass\n"
    (package / "first.py").write_text(part.format(name="First"))
    (package / "second.py").write_text(
        part.format(name="Second") + "    class Options(Sum.Options):\n        size: int = 5\n"
    )
    (package / "none.py").write_text("from made_up_base import Sum\n")
    parts = family("sums", Sum)
    assert {name: part.__name__ for name, part in parts.items()} == {"first": "First", "second": "Second"}
    assert section_of("Sums", parts).model_fields["size"].default is None  # they disagree about it
    assert section_of("Sums", {"first": parts["first"]}).model_fields["size"].default == 3


def test_two_parts_in_one_file_are_refused(package: Path) -> None:
    (package / "both.py").write_text("from made_up_base import Sum\n\nclass A(Sum): pass\n\nclass B(Sum): pass\n")
    with pytest.raises(TypeError, match=r"sums\.both defines 2 parts"):
        family("sums", Sum)
