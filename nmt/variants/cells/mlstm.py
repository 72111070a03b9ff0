"""The mLSTM of xLSTM: a memory of keys and values, which queries read."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from nmt.model.layers import Linear
from nmt.variants.bidirectional import VariantCell

HEADS = (8, 4, 2, 1)
MIN_HEAD_SIZE = 8  # of 1 value LN makes 0


class MLSTMCell(VariantCell):
    """C' = σ(f) C + eⁱ v kᵀ; n' = σ(f) n + eⁱ k; h' = σ(o) ∘ LN(C' q / max(|n'ᵀ q|, 1)) (Beck et al. 2024, 2.3).

    q, k, v, o = W x, with k divided by √D; i and f are one number each of a head, linear in q, k and v. LN normalises
    each head's D values, as the paper's blocks do, and scales each. Of 8, 4, 2 heads and 1, K is the first with which D
    is an integer of at least 8.

    A state is h (N H), C (N K D D), n (N K D) and m (N K), where C and n are held divided by eᵐ, m ≥ 0, so that no eⁱ
    overflows. It begins with C = v kᵀ and n = k of two of the bridge's vectors.

    Shapes: N rows, T steps, K heads, D = H / K.
    """

    name, gates, states = "mlstm", 4, 3

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.heads = next((n for n in HEADS if hidden % n == 0 and hidden // n >= MIN_HEAD_SIZE), 1)
        self.size = hidden // self.heads
        self.head_gates = Linear(3 * hidden, 2 * self.heads)
        self.scale = nn.Parameter(torch.empty(hidden))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """i begins at 0, and f at 3 to 6, another value for each head: a memory of 20 to 400 steps."""
        nn.init.ones_(self.scale)
        if not self.head_gates.weight.is_meta:
            nn.init.zeros_(self.head_gates.weight)
            with torch.no_grad():
                self.head_gates.bias[self.heads :] = torch.linspace(3, 6, self.heads)

    def initial(self, *vectors: Float[Tensor, "N H"]) -> tuple[Tensor, ...]:
        hidden, value, key = vectors
        value, key = self._split(value), self._split(key) * self.size**-0.5
        return hidden, value.unsqueeze(-1) * key.unsqueeze(-2), key, torch.zeros_like(key[..., 0])

    def forward(self, inputs: Float[Tensor, "N G"], *state: Tensor) -> tuple[Tensor, ...]:
        (query, key, value, output), log_input, log_forget = self._read(inputs)
        _, memory, normalizer, shift = state
        new_shift = torch.maximum(log_forget + shift, log_input).clamp(min=0)
        decay = torch.exp(log_forget + shift - new_shift).unsqueeze(-1)
        scaled_key = torch.exp(log_input - new_shift).unsqueeze(-1) * key
        memory = decay.unsqueeze(-1) * memory + value.unsqueeze(-1) * scaled_key.unsqueeze(-2)
        normalizer = decay * normalizer + scaled_key
        numerator = (memory @ query.unsqueeze(-1)).squeeze(-1)
        hidden = output * self._normalised(numerator, (normalizer * query).sum(-1), new_shift)
        return hidden, memory, normalizer, new_shift

    def sequence(self, inputs: Float[Tensor, "T N G"], *state: Tensor) -> Float[Tensor, "T N H"]:
        """All steps at once, each from the keys and values of all steps up to it: T² products for each head."""
        (query, key, value, output), log_input, log_forget = self._read(inputs)
        _, memory, normalizer, shift = state
        log_decay = log_forget.double().cumsum(0)  # in 64 bits: it grows with t, and so would a difference's error
        log_start = log_decay + shift
        steps = torch.arange(inputs.shape[0], device=inputs.device)
        future = (steps.unsqueeze(0) > steps.unsqueeze(1))[..., None, None]
        log_weights = (log_decay.unsqueeze(1) - log_decay + log_input).masked_fill(future, -torch.inf)  # (T T N K)
        shifts = torch.maximum(log_weights.amax(1), log_start).clamp(min=0)
        log_weights, log_start = (x.to(key.dtype) for x in (log_weights - shifts.unsqueeze(1), log_start - shifts))
        weights, start = torch.exp(log_weights) * torch.einsum("tnkd,snkd->tsnk", query, key), torch.exp(log_start)
        numerator = torch.einsum("tsnk,snkd->tnkd", weights, value)
        numerator = numerator + start.unsqueeze(-1) * torch.einsum("nkde,tnke->tnkd", memory, query)
        denominator = weights.sum(1) + start * (normalizer * query).sum(-1)
        return output * self._normalised(numerator, denominator, shifts.to(key.dtype))

    def _read(self, inputs: Float[Tensor, "*N G"]) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
        """Queries, keys and values of the heads, and σ(o); then i and log σ(f)."""
        *vectors, output = inputs.chunk(4, dim=-1)
        log_input, forget = self.head_gates(torch.cat(vectors, dim=-1)).chunk(2, dim=-1)
        query, key, value = map(self._split, vectors)
        return (query, key * self.size**-0.5, value, torch.sigmoid(output)), log_input, F.logsigmoid(forget)

    def _split(self, vectors: Float[Tensor, "*N H"]) -> Float[Tensor, "*N K D"]:
        return vectors.reshape(*vectors.shape[:-1], self.heads, self.size)  # unflatten would export constant sizes

    def _normalised(
        self, numerator: Float[Tensor, "*N K D"], denominator: Float[Tensor, "*N K"], shift: Float[Tensor, "*N K"]
    ) -> Float[Tensor, "*N H"]:
        """LN(C q / max(|nᵀ q|, 1)), of C and n divided by eᵐ."""
        heads = numerator / torch.maximum(denominator.abs(), torch.exp(-shift)).unsqueeze(-1)
        return self.scale * F.layer_norm(heads, (self.size,)).flatten(-2)
