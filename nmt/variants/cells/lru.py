"""The linear recurrent unit: a complex diagonal recurrence that is stable by its parameters."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nmt.model.layers import Linear
from nmt.variants.linear import LinearCell, scan


class LRUCell(LinearCell):
    """c' = λ ∘ c + γ ∘ B x; h' = σ(W_g x) ∘ (Re(C c') + D x) (Orvieto et al. 2023, section 3).

    λ = exp(−exp(ν) + i θ), so that |λ| < 1, and γ = √(1 − |λ|²). It begins with |λ| in [0.5, 0.99] and θ in [0, π/10].
    The gate is in the place of the paper's layer between recurrences, without which a stack of them would be linear.
    """

    name, gates, states = "lru", 4, 3  # the hidden state, and c's real and imaginary halves

    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        self.nu, self.theta = (nn.Parameter(torch.empty(hidden)) for _ in range(2))
        self.mix = Linear(2 * hidden, hidden, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.nu.is_meta:
            return
        with torch.no_grad():
            squared = torch.rand(self.hidden) * (0.99**2 - 0.5**2) + 0.5**2
            self.nu.copy_(torch.log(-0.5 * torch.log(squared)))
            self.theta.uniform_(0, math.pi / 10)

    def recurrence(self, inputs: Float[Tensor, "*N G"]) -> tuple[Float[Tensor, "*N C"], Float[Tensor, "*N C"]]:
        """|λ| and b of the real halves, then of the imaginary ones."""
        rate = torch.exp(self.nu)
        tanh = torch.tanh(rate)  # 1 − exp(−2x) = 2 tanh(x) / (1 + tanh(x)), which is not 0 for a small x
        driven = inputs[..., : 2 * self.hidden] * torch.sqrt(2 * tanh / (1 + tanh)).repeat(2)
        return torch.exp(-rate).repeat(2).expand_as(driven), driven

    def output(self, memory: Float[Tensor, "*N C"], inputs: Float[Tensor, "*N G"]) -> Float[Tensor, "*N H"]:
        direct, gate = inputs[..., 2 * self.hidden :].chunk(2, dim=-1)
        return torch.sigmoid(gate) * (self.mix(memory) + direct)

    def forward(self, inputs: Float[Tensor, "N G"], *state: Float[Tensor, "N H"]) -> tuple[Tensor, ...]:
        a, b = self.recurrence(inputs)
        memory = a * _turned(torch.cat(state[1:], dim=-1), self.theta) + b
        return (self.output(memory, inputs), *memory.chunk(2, dim=-1))

    def sequence(self, inputs: Float[Tensor, "T N G"], *state: Float[Tensor, "N H"]) -> Float[Tensor, "T N H"]:
        """Each memory is turned back by t θ, so that the recurrence has the real factor |λ|, and forth after it."""
        a, b = self.recurrence(inputs)
        # In 64 bits: t θ grows with t, and so would its error.
        steps = torch.arange(1, inputs.shape[0] + 1, device=inputs.device, dtype=torch.float64)
        angles = steps[:, None, None] * self.theta.double()
        start = torch.cat(state[1:], dim=-1)
        memory = _turned(scan(a.to(start.dtype), _turned(b.to(start.dtype), -angles), start), angles)
        return self.output(memory, inputs)


def _turned(memory: Float[Tensor, "*N C"], angles: Float[Tensor, "*#N H"]) -> Float[Tensor, "*N C"]:
    """Complex numbers, their real halves before the imaginary ones, times exp(i angle)."""
    (real, imaginary), cos, sin = memory.chunk(2, dim=-1), *(f(angles).to(memory.dtype) for f in (torch.cos, torch.sin))
    return torch.cat([real * cos - imaginary * sin, real * sin + imaginary * cos], dim=-1)
