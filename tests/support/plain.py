"""PyTorch's own functions for what `nmt.fast` computes by hand: the references of its tests."""

import torch
import torch.nn.functional as F


def additive_scores(query, keys, v):
    return (torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ v.unsqueeze(-1)).squeeze(-1)


def gather_windows(memory, positions):
    windows = positions.expand(*memory.shape[:-2], -1, -1)
    rows = windows.flatten(-2).unsqueeze(-1).expand(*memory.shape[:-2], -1, memory.shape[-1])
    return memory.gather(-2, rows).unflatten(-2, windows.shape[-2:])


def gru_step(gates, hidden, weight, bias):
    size = hidden.shape[1]
    input_rz, input_n = gates.split([2 * size, size], dim=1)
    recurrent_rz, recurrent_n = F.linear(hidden, weight, bias).split([2 * size, size], dim=1)
    reset, update = torch.sigmoid(input_rz + recurrent_rz).chunk(2, dim=1)
    candidate = torch.tanh(input_n + reset * recurrent_n)
    return (1 - update) * candidate + update * hidden


def gru_sequence(gates, hidden, weight, bias):
    states = []
    for step in gates.unbind(0):
        hidden = gru_step(step, hidden, weight, bias)
        states.append(hidden)
    return torch.stack(states)
