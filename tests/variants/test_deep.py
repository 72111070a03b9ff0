"""Residual connections and layer normalisation between layers, against the formulas."""

import numpy as np
import pytest
import torch
from export.test_graphs import BATCHES, compare, sessions
from support import formulas, parameters
from support import tiny_models as tiny

from nmt.build import build_model
from nmt.components import CELLS
from nmt.config.model import ModelConfig
from nmt.data.batching import pad, pad_source
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
GNMT = {"layers": 4, "bidirectional_layers": 1, "residual": True}


@pytest.mark.parametrize("cell", ["gru", "lstm", "lru", "deep_gru"])
def test_upper_layers_of_one_direction_compute_the_formulas(cell):
    variant = tiny.Variant("luong", other="" if cell == "gru" else cell)
    config = tiny.config_of(variant, encoder={"hidden_size": tiny.ENCODER_HIDDEN} | GNMT)
    model = build_model(config, tiny.SOURCE_TYPES, tiny.TARGET_TYPES, tiny.ENDS).double().eval()
    tiny.randomise(model, seed=1)
    lowest, *upper = model.encoder.rnn.layers
    encoded = model.encoder(*pad_source(tiny.SOURCES))
    for b, source in enumerate(tiny.SOURCES):
        inputs = model.encoder.embedding.weight.detach().numpy()[[*source, EOS]]
        outputs, _ = formulas.bidirectional(inputs, parameters.rnn_weights(lowest))
        for layer in upper:
            gates, rnn = layer.direction.gates, layer.direction.cell
            weights = parameters.layer_weights(gates.weight.detach().numpy(), gates.bias.detach().numpy(), rnn)
            states = np.stack(formulas.one_direction(outputs, weights))
            outputs = outputs + states
        np.testing.assert_allclose(encoded.values[b, : len(outputs)].detach(), outputs, rtol=0, atol=1e-11)
        assert not encoded.values[b, len(outputs) :].any()
        np.testing.assert_allclose(encoded.final[b].detach(), states[-1], rtol=0, atol=1e-11)
    message = r"bidirectional_layers: 4 is not below layers: 4; lower it, or remove it"
    with pytest.raises(ValueError, match=message):
        ModelConfig.model_validate({"encoder": GNMT | {"bidirectional_layers": 4}})


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
