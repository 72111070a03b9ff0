"""The names of attention mechanisms, as legends and titles show them."""

import pytest

from nmt.config.model import AttentionConfig
from nmt.evaluation.mechanisms import mechanism
from nmt.evaluation.report import legend


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"wiring": "none"}, "no attention"),
        ({}, "Bahdanau, additive"),
        ({"wiring": "luong", "score": "scaled_dot", "scope": "local_p"}, "Luong, scaled dot, local-p"),
        (
            {"wiring": "luong", "score": "general", "heads": 4, "hard": True, "input_feeding": False},
            "Luong, general, 4 heads, hard, no input feeding",
        ),
    ],
)
def test_a_mechanism_is_named_by_what_it_is(fields: dict[str, object], name: str) -> None:
    assert mechanism(AttentionConfig.model_validate(fields)) == name


def test_runs_are_named_where_they_share_a_mechanism() -> None:
    assert legend(["A", "B", None, "A"], ["a1", "b", "ensemble", "a2"]) == ["A (a1)", "B", "ensemble", "A (a2)"]
    assert legend([None, None], ["a", "b"]) == ["a", "b"]
