"""Single steps of tiny decoders."""

import pytest
import torch

from support.attention_cases import draw
from support.tiny_models import EACH_ONCE, VARIANTS, parametrised

TOLERANCE = {"rtol": 0, "atol": 1e-12}
EVERY = pytest.mark.parametrize("variant", **parametrised(VARIANTS))
SPREAD = pytest.mark.parametrize("variant", **parametrised(EACH_ONCE))
COVERING = [v for v in VARIANTS if v.extra == "coverage"]


def random_state(state):
    """As if some steps had been taken: the states of the layers, t, coverage if there is any, h̃ if it is fed."""
    hidden = tuple(torch.tanh(draw(*tensor.shape, seed=3 + i)) for i, tensor in enumerate(state.hidden))
    state = state._replace(hidden=hidden, t=torch.arange(len(state.t)) % 4 + 2)
    if state.coverage is not None:
        state = state._replace(coverage=draw(*state.coverage.shape, seed=20).abs())
    if state.attentional is not None:
        state = state._replace(attentional=draw(*state.attentional.shape, seed=21))
    return state


def step(model, tokens, state, memory):
    """One step: readout, state, and the weights of all positions."""
    readout, state, alignment = model.decoder.step(model.decoder.embed(torch.as_tensor(tokens)), state, memory)
    return readout, state, alignment.dense(memory.mask.shape[1])
