"""What the config of a model refuses: sizes and choices that do not go together; and what mends it."""

import pytest
from support.tiny_models import SOURCE_TYPES, TARGET_TYPES

from nmt.build import build_model
from nmt.config.reading import parse_config
from nmt.system.errors import UserError

REFUSED = [
    # encoder, decoder, attention; what the message names; what mends it
    (4, 9, {"score": "dot"}, ["score: dot", "decoder.hidden_size (9)", "encoder.hidden_size (8)"], {"decoder": 8}),
    (4, 9, {"score": "dot"}, ["attention.score to general"], {"score": "general"}),
    (4, 9, {"score": "scaled_dot"}, ["scaled_dot", "decoder.hidden_size (9)", "(8)"], {"score": "scaled_general"}),
    (
        4,
        8,
        {"score": "dot", "key_value": True},
        ["decoder.hidden_size (8) = encoder.hidden_size (4)"],
        {"decoder": 4},
    ),
    (3, 8, {"key_value": True}, ["key_value: true", "even encoder.hidden_size (here: 3)"], {"encoder": 4}),
    (3, 8, {"heads": 4}, ["heads: 4 does not divide 2 × encoder.hidden_size (6)"], {"encoder": 4}),
    (4, 9, {"heads": 3}, ["heads: 3 does not divide 2 × encoder.hidden_size (8)"], {"encoder": 3}),
    (4, 9, {"heads": 4}, ["heads: 4 does not divide decoder.hidden_size (9)"], {"decoder": 8}),
    (4, 8, {"heads": 4, "size": 6}, ["heads: 4 does not divide attention.size (6)"], {"size": 4}),
    (4, 8, {"heads": 8, "key_value": True}, ["heads: 8 does not divide encoder.hidden_size (4)"], {"heads": 4}),
    (4, 8, {"score": "location", "heads": 2}, ["heads: 2", "score: location"], {"heads": 1}),
    (4, 8, {"score": "location", "projected": True}, ["projected: true", "score: location"], {"projected": False}),
    (4, 8, {"score": "location", "key_value": True}, ["key_value: true", "score: location"], {"key_value": False}),
    (4, 8, {"score": "location", "coverage": True}, ["coverage: true", "score: location"], {"score": "general"}),
]


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
@pytest.mark.parametrize(("encoder", "decoder", "attention", "parts", "mended"), REFUSED)
def test_what_the_mathematics_does_not_allow_is_refused(wiring, encoder, decoder, attention, parts, mended):
    def values(changes):
        fields = attention | {"encoder": encoder, "decoder": decoder, "wiring": wiring} | changes
        sides = {side: {"hidden_size": fields.pop(side)} for side in ("encoder", "decoder")}
        return {"name": "x", "model": sides | {"attention": fields}}

    with pytest.raises(UserError) as refused:
        parse_config(values({}), "here")
    for part in ["here: model", *parts, "; set "]:
        assert part in str(refused.value)
    build_model(parse_config(values(mended), "here").model, SOURCE_TYPES, TARGET_TYPES)
