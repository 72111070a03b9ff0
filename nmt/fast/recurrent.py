"""GRU and LSTM on a CPU.

Autograd keeps and fills some twenty tensors a step of a GRU; here the backward pass is written out, reads five, and
works in place. The recurrent weight has one gradient product for all steps.

Shapes: N rows, T steps, H state, G gates: 3H of a GRU, in the order reset, update, candidate; 4H of an LSTM.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmt.fast.products import kernel_product, linear, multiply, weight_gradient
from nmt.fast.shared_gradients import collect, reused
from nmt.model.cells import lstm_update


def gru_sequence(
    gates: Float[Tensor, "T N G"], hidden: Float[Tensor, "N H"], weight: Float[Tensor, "G H"], bias: Float[Tensor, " G"]
) -> Float[Tensor, "T N H"]:
    """The states after each of T steps: `gates` is the inputs' share, `weight` and `bias` make the states'."""
    return _GRUSequence.apply(gates, hidden, weight, bias)  # type: ignore[no-untyped-call]


def gru_update(
    inputs: Float[Tensor, "N G"], recurrent: Float[Tensor, "N G"], hidden: Float[Tensor, "N H"]
) -> Float[Tensor, "N H"]:
    """The new state from both shares of the gates, without a gradient. Overwrites `recurrent`."""
    size = hidden.shape[1]
    gates, candidate = recurrent[:, : 2 * size], recurrent[:, 2 * size :]
    return _forward(inputs, recurrent, hidden, gates, candidate, torch.empty_like(hidden))


def lstm_sequence(
    gates: Float[Tensor, "T N G"],
    hidden: Float[Tensor, "N H"],
    cell: Float[Tensor, "N H"],
    weight: Float[Tensor, "G H"],
    bias: Float[Tensor, " G"],
) -> Float[Tensor, "T N H"]:
    """The hidden states after each of T steps."""
    weight = reused(weight)
    states = []
    for step in gates.unbind(0):
        hidden, cell = lstm_update(step + linear(hidden, weight, bias), cell)
        states.append(hidden)
    return torch.stack(states)


class _GRUSequence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        steps, (rows, size) = len(inputs), hidden.shape
        gates, candidates = inputs.new_empty(steps, rows, 2 * size), inputs.new_empty(steps, rows, size)
        states, recurrents = inputs.new_empty(steps + 1, rows, size), []
        states[0] = hidden
        for t, step in enumerate(inputs.unbind(0)):
            recurrents.append(kernel_product(states[t], weight.t(), bias))
            _forward(step, recurrents[-1].to(step.dtype), states[t], gates[t], candidates[t], states[t + 1])
        ctx.save_for_backward(weight, gates, candidates, states, *recurrents)
        return states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, candidates, states, *recurrents = ctx.saved_tensors
        size = states.shape[2]
        of_inputs = gates.new_empty(len(gates), *recurrents[0].shape)
        of_recurrents = torch.empty_like(of_inputs, dtype=recurrents[0].dtype)
        of_hidden, of_bias = torch.zeros_like(states[0]), weight.new_zeros(len(weight))
        is_rounded = of_recurrents.dtype != gates.dtype
        for t in reversed(range(len(gates))):
            of_state = of_hidden.add_(gradient[t])
            reset, update = gates[t].chunk(2, dim=1)
            recurrent = recurrents[t].to(gates.dtype)
            of_recurrent = torch.empty_like(of_inputs[t]) if is_rounded else of_recurrents[t]
            of_gates, of_candidate = of_inputs[t].split([2 * size, size], dim=1)
            of_hidden = of_state * update
            torch.ops.aten.tanh_backward.grad_input(of_state - of_hidden, candidates[t], grad_input=of_candidate)
            torch.mul(of_candidate, reset, out=of_recurrent[:, 2 * size :])
            torch.mul(of_candidate, recurrent[:, 2 * size :], out=of_gates[:, :size])
            torch.mul(of_state, states[t] - candidates[t], out=of_gates[:, size:])
            torch.ops.aten.sigmoid_backward.grad_input(of_gates, gates[t], grad_input=of_gates)
            of_recurrent[:, : 2 * size] = of_gates
            of_bias += of_recurrent.sum(dim=0)
            if is_rounded:
                of_recurrents[t] = of_recurrent
            of_hidden += multiply(of_recurrents[t], weight)
        of_weight = collect(weight, weight_gradient, states[:-1].flatten(0, 1), of_recurrents.flatten(0, 1))
        return of_inputs, of_hidden, of_weight, of_bias


def _forward(
    inputs: Tensor, recurrent: Tensor, hidden: Tensor, gates: Tensor, candidate: Tensor, new: Tensor
) -> Tensor:
    """Fill the reset and update gates (N 2H), the candidate and the new state (N H), which is returned."""
    size = hidden.shape[1]
    torch.add(inputs[:, : 2 * size], recurrent[:, : 2 * size], out=gates).sigmoid_()
    reset, update = gates.chunk(2, dim=1)
    torch.addcmul(inputs[:, 2 * size :], reset, recurrent[:, 2 * size :], out=candidate)
    candidate.mul_(2).sigmoid_().mul_(2).sub_(1)  # tanh, in a fifth of the time of PyTorch's
    return torch.lerp(candidate, hidden, update, out=new)
