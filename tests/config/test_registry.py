"""The registry of components: where they are found, and what the config makes of their options."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import config_meanings
import pytest
from pydantic import ValidationError
from pydantic_core import core_schema

from nmt.components import LEARNING_RATE_SCHEDULES, NORMALIZERS, OPTIMIZERS, SCOPES, SCORES, TEACHER_FORCING_SCHEDULES
from nmt.registry import Registry, Section, options_of
from nmt.text.tokenizers import TOKENIZERS

REGISTRIES = [
    (SCORES, "additive concat dot general linear location scaled_dot scaled_general"),
    (SCOPES, "global hierarchical local_m local_p"),
    (NORMALIZERS, "softmax"),
    (TOKENIZERS, "char sentencepiece sentencepiece_cased spacy whitespace"),
    (LEARNING_RATE_SCHEDULES, "constant cosine halving inverse_sqrt plateau warmup_stable_decay"),
    (OPTIMIZERS, "adadelta adam adamw sgd"),
    (TEACHER_FORCING_SCHEDULES, "constant exponential inverse_sigmoid linear"),
]


def test_the_components_that_configs_name_are_found() -> None:
    for components, expected in REGISTRIES:
        assert set(expected.split()) <= set(components)
        for component in components.values():
            assert issubclass(options_of(component), Section)
            assert component.__doc__


class Positive:
    """A bound as `nmt.model` writes it, which does not import pydantic."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.int_schema(ge=1)


class Sum:
    """A sum."""

    name = "plus"

    class Options(Section):
        size: int = 3
        """How much is added."""


class Product(Sum):
    """A product."""

    name = "times"

    @dataclass(frozen=True)
    class Options:
        factor: Annotated[int, Positive()] = 2
        """How much it is multiplied by."""
        order: Literal["first", "last"] = "first"
        """When."""

        def __post_init__(self) -> None:
            if self.factor == 7:
                raise ValueError("factor: 7 brings bad luck; set another")


SUMS: Registry[Sum] = Registry(f"{__name__}:Sum")


class AnySum(Section):
    sum: Annotated[str, SUMS] = "times"
    other: int = 1


def test_the_options_of_a_dataclass_are_fields_of_the_section() -> None:
    assert list(SUMS) == ["plus", "times"]
    assert list(AnySum.all_fields()) == ["sum", "size", "factor", "order", "other"]
    assert AnySum().model_dump() == {"sum": "times", "factor": 2, "order": "first", "other": 1}
    assert AnySum(factor=5).component("sum") == Product.Options(factor=5)
    for values, reason in (
        ({"factor": 0}, "greater than or equal to 1"),
        ({"order": "middle"}, "'first' or 'last'"),
        ({"factor": 7}, "brings bad luck"),
        ({"size": 2}, r"size \(2\) has no effect with sum: times; remove it, or set sum to plus"),
        ({"sum": "minus"}, "'plus' or 'times'"),
    ):
        with pytest.raises(ValidationError, match=reason):
            AnySum.model_validate(values)
    assert AnySum.model_validate({"sum": "plus", "size": 4}).component("sum") == Sum.Options(size=4)
    assert config_meanings._docstring(Product.Options, "factor") == "How much it is multiplied by."


def test_components_are_called_as_their_files_or_by_their_names_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt.registry._registries", [])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "made_up_base", sys.modules[__name__])
    named = "class A(Sum): name = 'a'\n\nclass B(A): name = 'b'\n"
    sums = {"first": "class First(Sum): pass\n", "others": named, "none": ""}
    for package, modules in (("sums", sums), ("doubles", {"both": "class A(Sum): pass\n\nclass B(Sum): pass\n"})):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        for name, source in modules.items():
            (tmp_path / package / f"{name}.py").write_text(f"from made_up_base import Sum\n\n{source}")
    names = {name: component.__name__ for name, component in Registry("made_up_base:Sum", "sums").items()}
    assert names == {"a": "A", "b": "B", "first": "First", "plus": "Sum", "times": "Product"}
    with pytest.raises(
        TypeError, match=r"doubles\.both\.B and doubles\.both\.A are both called both: give each a `name`"
    ):
        list(Registry("made_up_base:Sum", "doubles"))
