"""The names of attention mechanisms, as legends and titles show them."""

import pytest

from nmt.config.model import ModelConfig
from nmt.lab.mechanisms import mechanism

LSTM = {"cell": "lstm", "encoder": {"self_attention": 4}, "decoder": {"readout": "maxout"}}


@pytest.mark.parametrize(
    ("attention", "others", "name"),
    [
        ({"wiring": "none"}, {"cell": "lstm"}, "no attention, LSTM"),
        ({}, LSTM, "Bahdanau, additive, LSTM, encoder self-attention, maxout readout"),
        ({"wiring": "luong", "score": "scaled_dot", "scope": "local_p"}, {}, "Luong, scaled dot, local-p"),
        (
            {"wiring": "luong", "score": "general", "heads": 4, "hard": True, "input_feeding": False},
            {},
            "Luong, general, 4 heads, hard, no input feeding",
        ),
    ],
)
def test_a_mechanism_is_named_by_what_it_is(attention: dict[str, object], others: dict[str, object], name: str) -> None:
    config = {"attention": attention, "decoder": {"hidden_size": 512}} | others
    assert mechanism(ModelConfig.model_validate(config)) == name
