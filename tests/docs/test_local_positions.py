"""The script behind the tables of local-p: what it takes for learnt, and for the gold positions."""

import numpy as np
import pytest
import torch
from local_positions import learnt, linked_pairs

from nmt.model.scopes import LocalPredictiveScope


@pytest.mark.parametrize("initial_position", ["diagonal", "middle"])
def test_what_is_learnt_is_the_logit_of_the_paper(initial_position: str) -> None:
    torch.manual_seed(1)
    scope = LocalPredictiveScope(8, initial_position=initial_position, window=10)
    query, t, length = torch.randn(1, 30, 8), torch.arange(30), torch.tensor([20])
    with torch.no_grad():
        centre = scope.centre(query, t, length).flatten()
        expected = scope.v(torch.tanh(scope.hidden(query))).flatten()
    words = {"t": t.numpy(), "length": np.full(30, 20), "centre": centre.numpy().astype(float)}
    assert learnt(words, initial_position == "diagonal") == pytest.approx(expected.numpy(), abs=1e-4)


def test_a_word_with_several_links_stands_at_their_mean() -> None:
    _, (source, target, gold), *_ = linked_pairs()
    assert (source, target) == (
        "Ein Polizist hat gesehen, dass ein Affe weggelaufen ist.",
        "A police officer saw that a monkey ran away.",
    )
    # A, police, officer, saw, that, a, monkey, ran, away and the full stop
    assert [gold[t] for t in range(10)] == [0, 1, 1, 2.5, 5, 6, 7, 8.5, 8.5, 10]
