"""The exported graphs give the numbers of the model, whatever the sizes of the batch."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from support.tiny_models import EACH_ONCE, TARGET_TYPES, Variant, monotonic_model, tiny_model

from nmt.data.batching import pad_source
from nmt.decoding.beam_search import select
from nmt.decoding.ensemble import Ensemble
from nmt.export.graphs import trace
from nmt.text.vocabulary import BOS

# Of all sizes other than those of the example that is traced; with segments, with none, and with the end alone.
BATCHES = [
    [[4, 9, 11, 5, 5, 6, 7, 8, 9, 7, 4], [7, 6, 5, 4, 8, 10, 4], [5], [5, 4, 7, 4, 5, 4, 4, 4], []],
    [[4, 6]],
    [[]],
]
BEAM, STEPS = 4, 5


Values = dict[str, np.ndarray]


def sessions(graphs: dict[str, onnx.ModelProto]) -> list[onnxruntime.InferenceSession]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return [onnxruntime.InferenceSession(graph.SerializeToString(), options) for graph in graphs.values()]


def run(session: onnxruntime.InferenceSession, values: Values) -> Values:
    """A graph's outputs by their names, from those of the values that it reads."""
    names = [value.name for value in session.get_outputs()]
    inputs = {value.name: values[value.name] for value in session.get_inputs()}
    return dict(zip(names, session.run(names, inputs), strict=True))


def compare(models: list, graphs: list[onnxruntime.InferenceSession], sources: list[list[int]]) -> None:
    """Steps of the models and of the graphs, between which hypotheses change their places."""
    encoder, step = graphs
    source, lengths = pad_source(sources)
    generator = np.random.default_rng(1)
    rows = np.arange(len(sources))[:, None]
    encoded = [model.encode(source, lengths) for model in models]
    states, memories = [state for state, _ in encoded], [memory for _, memory in encoded]
    values = run(encoder, {"source": source.numpy(), "lengths": lengths.numpy()})
    tokens = np.full((len(sources), 1), BOS)
    for _ in range(STEPS):
        beam = tokens.shape[1]
        probabilities, weights = [], []
        for number, (model, memory) in enumerate(zip(models, memories, strict=True)):
            embedded = model.decoder.embed(torch.from_numpy(tokens.flatten()))
            readout, states[number], alignment = model.decoder.step(embedded, states[number], memory)
            probabilities.append(model.decoder.logits(readout).softmax(dim=1).numpy())
            weights.append(alignment.dense(source.shape[1] if model.has_attention else 1).numpy())
        got = run(step, values | {"tokens": tokens})
        expected = np.log(np.mean(probabilities, axis=0)).reshape(len(sources), beam, TARGET_TYPES)
        np.testing.assert_allclose(got["log_probabilities"], expected, rtol=0, atol=1e-4)
        if models[0].has_attention:
            expected = np.mean(weights, axis=0).reshape(len(sources), beam, -1)
            np.testing.assert_allclose(got["weights"], expected, rtol=0, atol=1e-5)
        parents = generator.integers(0, beam, (len(sources), BEAM))
        values |= {name.removeprefix("new_"): x[rows, parents] for name, x in got.items() if name.startswith("new_")}
        order = torch.from_numpy((rows * beam + parents).flatten())
        states = [select(state, order) for state in states]
        tokens = generator.integers(4, TARGET_TYPES, (len(sources), BEAM))


LOOPING = {"deep_gru"}  # cells that are not exported (`tests/variants/test_cells.py`)
MODELS = [
    *(((variant,), 1) for variant in EACH_ONCE if variant.other not in LOOPING),
    *(((Variant("luong", input_feeding=True, other=cell),), 3) for cell in ("", "lstm")),
    ((Variant("bahdanau"), Variant("luong", "general", "local_p", input_feeding=True)), 1),  # an ensemble
]


@pytest.mark.parametrize(("variants", "layers"), MODELS, ids=str)
@torch.no_grad()
def test_the_graphs_give_the_models_numbers(variants: tuple[Variant, ...], layers: int) -> None:
    models = [tiny_model(variant, layers, seed).float() for seed, variant in enumerate(variants)]
    graphs = sessions(trace(models[0] if len(models) == 1 else Ensemble(models)))
    for sources in BATCHES:
        compare(models, graphs, sources)


@pytest.mark.parametrize("chunk", [1, 3])
@torch.no_grad()
def test_monotonic_attention_stops_where_the_model_does(chunk: int) -> None:
    model = monotonic_model("luong", feeding=True, chunk=chunk).float()
    graphs = sessions(trace(model))
    for sources in BATCHES:
        compare([model], graphs, sources)


def test_the_step_takes_nothing_that_it_does_not_read() -> None:
    graphs = trace(tiny_model(Variant("none")).float())
    for graph in graphs.values():
        onnx.checker.check_model(graph, full_check=True)
    made = {value.name for value in graphs["encoder"].graph.output}
    read = {value.name for value in graphs["step"].graph.input}
    assert read == made | {"tokens"}
    assert "weights" not in {value.name for value in graphs["step"].graph.output}
