"""Residual connections and layer normalisation between layers, against the formulas."""

import numpy as np
import pytest
import torch
from export.test_graphs import BATCHES, compare, sessions
from support import parameters
from support import tiny_models as tiny

from nmt.build import build_model
from nmt.components import CELLS
from nmt.config.model import ModelConfig
from nmt.data.batching import pad
from nmt.export.graphs import trace
from nmt.fast.modules import replace_modules
from nmt.text.vocabulary import EOS

BETWEEN = [{"residual": True}, {"layer_norm": True}, {"residual": True, "layer_norm": True}]


def made(variant, between, layers=3, seed=1):
    config = tiny.config_of(variant, layers)
    sizes = config.encoder.hidden_size, config.decoder.hidden_size
    sections = {
        name: {"hidden_size": size, "layers": layers} | between for name, size in zip(SIDES, sizes, strict=True)
    }
    config = tiny.config_of(variant, layers, **sections)
    model = build_model(config, tiny.SOURCE_TYPES, tiny.TARGET_TYPES, tiny.ENDS).double().eval()
    tiny.randomise(model, seed)
    return model


SIDES = ("encoder", "decoder")


@pytest.mark.parametrize("between", BETWEEN, ids=str)
@pytest.mark.parametrize("variant", tiny.WIRINGS, ids=str)
@pytest.mark.parametrize("cell", ["gru", "lstm", "lru"])
def test_a_deep_model_computes_the_formulas(cell, variant, between):
    variant = tiny.Variant(variant.wiring, input_feeding=variant.input_feeding, other="" if cell == "gru" else cell)
    model = made(variant, between)
    formula, inputs = parameters.decoder_weights(model, variant), tiny.decoder_inputs()
    logits = model.decoder.logits(model.decoder(pad(inputs), *tiny.encode(model))[0])
    for b, (source, tokens) in enumerate(zip(tiny.SOURCES, inputs, strict=True)):
        expected, _ = formula.decode(tokens, *parameters.encode_alone(model, [*source, EOS]))
        np.testing.assert_allclose(logits[b, : len(expected)].detach(), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("cell", ["gru", "mingru"])
@torch.no_grad()
def test_it_is_exported_and_runs_with_the_fast_modules(cell):
    variant = tiny.Variant("bahdanau", other="" if cell == "gru" else cell)
    model = made(variant, {"residual": True, "layer_norm": True}).float()
    graphs = sessions(trace(model))
    for sources in BATCHES:
        compare([model], graphs, sources)
    before = model.decoder(pad(tiny.decoder_inputs()), *tiny.encode(model))[0]
    replace_modules(model)
    torch.testing.assert_close(model.decoder(pad(tiny.decoder_inputs()), *tiny.encode(model))[0], before)


def test_a_layers_normalisation_begins_as_pytorchs_and_nothing_else_changes():
    torch.manual_seed(1)
    config = {"decoder": {"layers": 2}, "encoder": {"layers": 2}}
    plain = dict(build_model(ModelConfig.model_validate(config), 20, 20).decoder.named_parameters())
    torch.manual_seed(1)
    config["decoder"] = {"layers": 2, "layer_norm": True}
    normalised = dict(build_model(ModelConfig.model_validate(config), 20, 20).decoder.named_parameters())
    assert all(torch.equal(normalised[name], value) for name, value in plain.items())
    added = {name: value for name, value in normalised.items() if name not in plain}
    assert [bool((value == (1 if "weight" in name else 0)).all()) for name, value in added.items()] == [True] * 4


@pytest.mark.parametrize("side", SIDES)
def test_a_residual_of_one_layer_is_refused(side):
    message = r"residual \(true\) has no effect with layers: 1; remove it, or set layers to 2 or more"
    with pytest.raises(ValueError, match=message):
        ModelConfig.model_validate({side: {"residual": True}})
    assert "residual" not in ModelConfig().model_dump()[side]
    for cell in CELLS:
        ModelConfig.model_validate({"cell": cell, side: {"residual": True, "layers": 2}})
