"""The script behind the tables of local-p: what it takes for learnt, and for the gold positions."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from nmt.model.scopes.local_p import LocalPredictiveScope

SCRIPT = Path(__file__).parents[2] / "docs" / "local_positions.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("local_positions", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("initial_position", ["diagonal", "middle"])
def test_what_is_learnt_is_the_logit_of_the_paper(script: ModuleType, initial_position: str) -> None:
    torch.manual_seed(1)
    scope = LocalPredictiveScope(8, initial_position=initial_position, window=10)
    query, t, length = torch.randn(1, 30, 8), torch.arange(30), torch.tensor([20])
    with torch.no_grad():
        centre = scope.centre(query, t, length).flatten()
        expected = scope.v(torch.tanh(scope.hidden(query))).flatten()
    words = {"t": t.numpy(), "length": np.full(30, 20), "centre": centre.numpy().astype(float)}
    assert script.learnt(words, initial_position == "diagonal") == pytest.approx(expected.numpy(), abs=1e-4)


def test_a_word_with_several_links_stands_at_their_mean(script: ModuleType) -> None:
    _, (source, target, gold), *_ = script.linked_pairs()
    assert (source, target) == (
        "Ein Polizist hat gesehen, dass ein Affe weggelaufen ist.",
        "A police officer saw that a monkey ran away.",
    )
    # A, police, officer, saw, that, a, monkey, ran, away and the full stop
    assert [gold[t] for t in range(10)] == [0, 1, 1, 2.5, 5, 6, 7, 8.5, 8.5, 10]
