"""Given translations have the same log-probabilities on a GPU as on the processor."""

from copy import deepcopy

import pytest
from support.tiny_models import SOURCES, WIRINGS, parametrised, tiny_model

from nmt.data.batching import Example
from nmt.decoding.scoring import score

PAIRS = [Example([*source], [4, 5, 6][: number % 4]) for number, source in enumerate(SOURCES)]


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_scores_are_those_of_the_processor(variant) -> None:
    model = tiny_model(variant)
    expected, found = score(model, PAIRS, 3), score(deepcopy(model).cuda(), PAIRS, 3)
    assert [each.log_probability for each in found] == pytest.approx([each.log_probability for each in expected])
