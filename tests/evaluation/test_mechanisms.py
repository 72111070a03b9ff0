"""The names of attention mechanisms, as legends and titles show them."""

import pytest

from nmt.config.model import ModelConfig
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
    assert mechanism(ModelConfig.model_validate({"attention": fields, "decoder": {"hidden_size": 512}})) == name


def test_so_are_the_parts_around_attention() -> None:
    parts = {"cell": "lstm", "encoder": {"self_attention": 4}, "decoder": {"readout": "maxout"}}
    assert mechanism(ModelConfig.model_validate(parts)) == (
        "Bahdanau, additive, LSTM, encoder self-attention, maxout readout"
    )
    assert mechanism(ModelConfig.model_validate({"attention": {"wiring": "none"}, "cell": "lstm"})) == (
        "no attention, LSTM"
    )


def test_runs_are_named_where_they_share_a_mechanism() -> None:
    assert legend(["A", "B", None, "A"], ["a1", "b", "ensemble", "a2"]) == ["A (a1)", "B", "ensemble", "A (a2)"]
    assert legend([None, None], ["a", "b"]) == ["a", "b"]
