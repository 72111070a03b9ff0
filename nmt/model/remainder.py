"""What the types that nobody has chosen would add to a softmax's sum, without computing their logits.

A softmax over chosen types alone makes their probabilities too large: the thousands of others together hold about a
tenth. The logits of those others, w · h + b, are nearly normally distributed over the types. The mean of the
exponentials of a normal variable is exp(μ + σ²/2), so n such types add about n exp(μ + σ²/2). μ and σ² follow from the
mean and the covariance C of the layer's rows [w, b]:

    μ = w̄ · h + b̄,    σ² = hᵀ C_ww h + 2 c_wb · h + c_bb.

Shapes: N hypotheses of all sentences, B sentences, F features.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt.kernels import Linear


class Remainder(nn.Module):
    """Estimates the logarithm of the sum of exp(logit) over all types of an output layer but the chosen ones.

    The others are taken to be like those that are not among `always`, the types that every choice holds.
    """

    def __init__(self, output: nn.Module, always: Int[Tensor, " M"]) -> None:
        super().__init__()
        weight, bias = (output.get_parameter(name).detach() for name in ("weight", "bias"))
        self.types = len(weight)
        other = torch.ones(self.types, dtype=torch.bool, device=weight.device)
        other[always] = False
        rows = torch.cat([weight, bias.unsqueeze(1)], dim=1)[other if other.any() else slice(None)]
        mean, covariance = rows.mean(dim=0), torch.cov(rows.t(), correction=0)
        # μ + σ²/2 = h · (C_ww/2 h + w̄ + c_wb) + b̄ + c_bb/2: one linear layer, in whatever precision search has.
        self.layer = Linear(weight.shape[1], weight.shape[1], device="meta")  # draws no random numbers
        self.layer.weight = nn.Parameter(covariance[:-1, :-1] / 2, requires_grad=False)
        self.layer.bias = nn.Parameter(mean[:-1] + covariance[:-1, -1], requires_grad=False)
        self.constant = float(mean[-1] + covariance[-1, -1] / 2)

    def forward(self, features: Float[Tensor, "N F"], chosen: Int[Tensor, " B"]) -> Float[Tensor, " N"]:
        """The estimate for each row that the output layer reads.

        `chosen` is the number of types chosen for each sentence, whose N/B rows are neighbours.
        """
        dtype = torch.promote_types(features.dtype, torch.float32)
        mean = (features * self.layer(features)).sum(dim=1, dtype=dtype) + self.constant
        others = (self.types - chosen).to(dtype)
        return (mean.unflatten(0, (len(chosen), -1)) + others.log().unsqueeze(1)).flatten()
