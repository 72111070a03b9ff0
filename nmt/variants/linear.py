"""Cells whose memory is linear in itself: c_t = a_t ∘ c_{t−1} + b_t, with a and b of the input alone.

All steps of a known sequence are then computed by a scan: one operation per step on a CPU, and on other devices
operations on all of T, log2 T times (Hillis and Steele 1986). Both only multiply and add, and divide by nothing: with
|a| ≤ 1 they cannot overflow however long the sequence is.

Shapes: T steps, N rows, C values of a memory, H state, G gates.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from nmt.variants.bidirectional import VariantCell


class LinearCell(VariantCell):
    """A cell with a linear memory. Its state is (c,), where h = c, or (h, c, …)."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden

    @abstractmethod
    def recurrence(self, inputs: Float[Tensor, "*N G"]) -> tuple[Float[Tensor, "*N C"], Float[Tensor, "*N C"]]:
        """a and b of any number of steps."""

    def output(self, memory: Float[Tensor, "*N C"], inputs: Float[Tensor, "*N G"]) -> Float[Tensor, "*N H"]:
        """h from c of the same step, and from its input."""
        return memory

    def forward(self, inputs: Float[Tensor, "N G"], *state: Float[Tensor, "N C"]) -> tuple[Tensor, ...]:
        a, b = self.recurrence(inputs)
        memory = a * state[-1] + b
        return (memory,) if len(state) == 1 else (self.output(memory, inputs), memory)

    def sequence(self, inputs: Float[Tensor, "T N G"], *state: Float[Tensor, "N C"]) -> Float[Tensor, "T N H"]:
        a, b = self.recurrence(inputs)
        return self.output(scan(a.to(state[-1].dtype), b.to(state[-1].dtype), state[-1]), inputs)


def scan(a: Float[Tensor, "T N C"], b: Float[Tensor, "T N C"], start: Float[Tensor, "N C"]) -> Float[Tensor, "T N C"]:
    """c_t = a_t ∘ c_{t−1} + b_t for all t, from c_{−1} = `start`."""
    if torch.onnx.is_in_onnx_export():
        return doubled(a, b, start)
    return _Scan.apply(a, b, start)  # type: ignore[no-untyped-call]


class _Scan(torch.autograd.Function):
    """The gradient δ_t of c_t is another such recurrence, δ_t = g_t + a_{t+1} ∘ δ_{t+1}, from the end to the start."""

    @staticmethod
    def forward(ctx: Any, *values: Any) -> Tensor:
        a, b, start = values
        states = _states(a, b, start)
        ctx.save_for_backward(a, states, start)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, ...]:
        a, states, start = ctx.saved_tensors
        following = torch.cat([a[1:], torch.zeros_like(a[:1])])
        of_b = _states(following.flip(0), gradients[0].flip(0), torch.zeros_like(start)).flip(0)
        return of_b * torch.cat([start.unsqueeze(0), states[:-1]]), of_b, a[0] * of_b[0]


def _states(a: Tensor, b: Tensor, start: Tensor) -> Tensor:
    return step_by_step(a, b, start) if b.device.type == "cpu" else doubled(a, b, start)


def step_by_step(a: Tensor, b: Tensor, start: Tensor) -> Tensor:
    """One multiplication and addition per step, written where the result is kept; without gradients."""
    states, state = torch.empty_like(b), start
    for of_a, of_b, new in zip(a, b, states, strict=True):
        state = torch.addcmul(of_b, of_a, state, out=new)
    return states


def doubled(a: Tensor, b: Tensor, start: Tensor, longest: int = 1 << 13) -> Tensor:
    """The same in log2 T operations on all of T: after each, c_t is right from twice as many steps before t.

    In a traced graph T is not known: it then has operations for `longest` steps.
    """
    a, b = torch.cat([a[:1], a]), torch.cat([start.unsqueeze(0), b])
    distance, length = 1, longest if torch.onnx.is_in_onnx_export() else len(b)
    while distance < length:
        b = b + a * _later(b, distance)
        a = a * _later(a, distance)
        distance *= 2
    return b[1:]


def _later(values: Tensor, steps: int) -> Tensor:
    """Values of so many steps before; 0 where there were none."""
    return F.pad(values, (0, 0) * (values.dim() - 1) + (steps, 0))[: values.shape[0]]
