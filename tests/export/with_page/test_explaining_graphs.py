"""The graphs of a page that explains: attention is forced in them, and they tell what it did, as in PyTorch."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch
from support.tiny_models import EACH_ONCE, Variant, parametrised, tiny_model

from nmt.data.batching import pad_source
from nmt.export.graphs import trace
from nmt.model.seq2seq import Seq2Seq
from nmt.page import static_page
from nmt.page.forced_attention import forcing
from nmt.page.steps import steps
from nmt.text.vocabulary import BOS

SOURCES = [[4, 9, 11, 5, 5, 6, 7, 8, 9, 7, 4], [5]]  # of other lengths than those that are traced
TARGET = [10, 4, 7, 5, 6]
FORCED = {1: 0, 3: 1}
FIELDS = ("scores", "weights", "contributions", "centre", "coverage")


@pytest.mark.parametrize("variant", **parametrised(EACH_ONCE))
@torch.no_grad()
def test_a_step_and_the_look_at_it_are_pytorchs(variant: Variant) -> None:
    model = tiny_model(variant).float()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    graphs = trace(model, static_page).values()
    sessions = [onnxruntime.InferenceSession(graph.SerializeToString(), options) for graph in graphs]
    for source in SOURCES:
        assert_same_steps(model, sessions, source)


def assert_same_steps(model: Seq2Seq, sessions: list[onnxruntime.InferenceSession], source: list[int]) -> None:
    encoder, step, attention = sessions
    forced = FORCED if model.has_attention else {}
    expected = steps(forcing(model, forced) if forced else model, source, TARGET)
    padded, lengths = pad_source([source])
    values = run(encoder, {"source": padded.numpy(), "lengths": lengths.numpy()})
    table = np.full(5, -1)
    table[list(forced)] = list(forced.values())
    last = BOS
    for token, one in zip(TARGET, expected, strict=True):
        inputs = values | {"tokens": np.array([[last]]), "forced": table}
        new = run(step, inputs)
        own = np.exp(new["log_probabilities"][0, 0, token])
        assert own == pytest.approx(one.probability, abs=1e-5)
        rows = {name: x[:, 0] if "state_" in name else x for name, x in {**inputs, **new}.items()}
        found = run(attention, rows)
        np.testing.assert_allclose(found["query"], one.query, rtol=0, atol=1e-5)
        np.testing.assert_allclose(found["context"], one.context, rtol=0, atol=1e-5)
        for field in FIELDS:
            number = None if one.attention is None else getattr(one.attention, field)
            assert (field in found) == (number is not None)
            if number is not None:
                assert found[field].shape == tuple(number.shape)
                np.testing.assert_allclose(found[field], number, rtol=0, atol=1e-4)
        values |= {name.removeprefix("new_"): x for name, x in new.items() if name.startswith("new_")}
        last = token


def run(session: onnxruntime.InferenceSession, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A graph's outputs by their names, from those of the values that it reads."""
    names = [value.name for value in session.get_outputs()]
    inputs = {value.name: values[value.name] for value in session.get_inputs()}
    return dict(zip(names, session.run(names, inputs), strict=True))
