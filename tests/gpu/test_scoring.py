"""The log-probabilities of translations are the same on a GPU and on the CPU."""

from copy import deepcopy

import pytest
from support.tiny_models import SOURCES, WIRINGS, parametrised, tiny_model

from nmt.data.batching import Example
from nmt.decoding.scoring import score

PAIRS = [Example([*source], [4, 5, 6][: number % 4]) for number, source in enumerate(SOURCES)]


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_scores_are_those_of_the_cpu(variant) -> None:
    model = tiny_model(variant)
    on_cpu, on_gpu = ([x.log_probability for x in score(copy, PAIRS, 3)] for copy in (model, deepcopy(model).cuda()))
    assert on_gpu == pytest.approx(on_cpu)
