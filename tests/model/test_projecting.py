"""Decoders that project the memory beforehand, against those that read each context."""

import pytest
import torch
from support.tiny_models import EACH_ONCE, SOURCES, WIRINGS, encode, parametrised, tiny_model
from torch.nn.modules.module import register_module_forward_hook

from nmt.decoding.beam_search import select
from nmt.kernels.packed import packed
from nmt.model.scopes import SCOPES
from nmt.model.scopes.local import LocalScope
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS

BEAM = 3


def log_probabilities(model: Seq2Seq) -> list[torch.Tensor]:
    """Of three steps of a beam, whose hypotheses read different words; and the attention weights of the first ones."""
    state, memory = encode(model)
    rows = torch.arange(len(SOURCES)).repeat_interleave(BEAM)
    state, found = select(state, rows), []
    for tokens in ([BOS, BOS, BOS], [4, 10, 7], [5, 5, 9]):
        step, state = model.log_probabilities(torch.tensor(tokens * len(SOURCES)), state, memory)
        found.append(step)
    state, memory = encode(model)
    return [*found, model.weights(torch.tensor([[BOS, 4, 5]] * len(SOURCES)), state, memory)]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("variant", **parametrised(EACH_ONCE))
def test_it_is_the_same_decoder(variant, layers):
    model = tiny_model(variant, layers)
    keep = variant.extra in ("heads", "projected") or issubclass(SCOPES[variant.scope], LocalScope)
    if variant.wiring == "none":
        keep = False
    beam, greedy = model.for_search(1, BEAM), model.for_search(1, 1)
    assert greedy.decoder is model.decoder
    assert (beam.decoder is model.decoder) is (keep or variant.other == "linear")
    with torch.inference_mode():
        for found, expected in zip(log_probabilities(beam), log_probabilities(model), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("int8", 0.15)])
@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_a_packed_one_is_the_same_but_for_rounding(variant, precision, tolerance):
    model = tiny_model(variant).float()
    beam = packed(model, precision).for_search(1, BEAM)
    assert type(beam.decoder.projection) is type(packed(model, precision).decoder.output)
    with torch.inference_mode():
        for found, expected in zip(log_probabilities(beam), log_probabilities(model), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("variant", **parametrised(EACH_ONCE))
def test_layers_that_are_bounded_read_nothing_beyond_1(variant):
    model = tiny_model(variant, layers=2, seed=1)
    with torch.no_grad():  # states close to 1 and −1
        for parameter in model.parameters():
            parameter *= 3
    largest = []

    def note(layer, inputs, _):
        if getattr(layer, "bounded", False):
            read = inputs[0] if hasattr(layer, "in_features") else inputs[1]  # by a cell, whose gates come first
            largest.append(float(read.abs().max()))

    with torch.inference_mode(), register_module_forward_hook(note):
        for searching in (model, model.for_search(1, BEAM)):
            log_probabilities(searching)
    assert 0.9 < max(largest) <= 1
