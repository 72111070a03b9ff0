"""First values: each module gives its own parameters theirs, and nothing changes them afterwards."""

import pytest
import torch
from support.tiny_models import SOURCE_TYPES, TARGET_TYPES, Variant, config_of
from torch import nn

from nmt import build
from nmt.build import build_empty, build_model
from nmt.components import SCORES
from nmt.config.model import ModelConfig
from nmt.model.cells import LSTMCell


class Tempered(SCORES["general"]):
    """A score with values of its own: a vector, and a layer of PyTorch's."""

    def __init__(self, query_size, memory_size, *, coverage=False):
        super().__init__(query_size, memory_size, coverage=coverage)
        self.temperature = nn.Parameter(torch.linspace(1, 3, query_size))
        self.layer = nn.Linear(query_size, 500)


def test_a_modules_own_values_stay(monkeypatch):
    monkeypatch.setattr(build, "SCORES", {**SCORES, "general": Tempered})
    config = config_of(Variant("luong", "general"))
    score = build_model(config, SOURCE_TYPES, TARGET_TYPES).decoder.attention.score
    assert torch.equal(score.temperature, torch.linspace(1, 3, len(score.temperature)))
    assert score.layer.bias.any()  # PyTorch's, which does not begin at 0


def values(wiring):
    """The parameters of a model with every kind of layer, wide enough that chance evens out."""
    attention = {"wiring": wiring, "score": "additive", "scope": "local_p", "coverage": True, "heads": 2}
    encoder, decoder = {"hidden_size": 64, "layers": 2}, {"hidden_size": 128, "layers": 2}
    config = {"embedding_size": 128, "encoder": encoder, "decoder": decoder, "attention": attention}
    torch.manual_seed(1)
    return dict(build_model(ModelConfig.model_validate(config), 300, 200).named_parameters())


GATES = ("weight_ih", "weight_hh", "gates", "rnn.upper", "rnn.recurrent")  # of three matrices each


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_layers_begin_as_their_kind_does(wiring):
    for name, value in values(wiring).items():
        if value.dim() == 1:
            assert not value.any(), name
            continue
        for matrix in value.detach().chunk(3 if any(kind in name for kind in GATES) else 1):
            outputs, inputs = matrix.shape
            if "embedding.weight" in name:
                assert matrix.std().item() == pytest.approx(inputs**-0.5, rel=0.05), name
            elif "weight_hh" in name or "rnn.recurrent" in name:
                torch.testing.assert_close(matrix @ matrix.T, torch.eye(outputs), rtol=0, atol=1e-5)
            else:
                bound = (6 / (inputs + outputs)) ** 0.5
                assert 0.9 * bound < matrix.abs().max().item() <= bound, name
                assert matrix.std().item() == pytest.approx(bound / 3**0.5, rel=0.2), name


def test_an_empty_model_may_be_larger_than_memory():
    huge = build_empty(ModelConfig(), 10**9, 10**9)
    assert huge.decoder.output.weight.shape == (10**9, 256)
    assert all(parameter.is_meta for parameter in huge.parameters())


def test_forget_gates_begin_open():
    assert torch.equal(LSTMCell(3).bias.detach(), torch.tensor([0.0] * 3 + [1.0] * 3 + [0.0] * 6))
