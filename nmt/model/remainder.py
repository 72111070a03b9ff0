"""What the types that nobody has chosen would add to a softmax's sum, without computing their logits.

A softmax over chosen types alone makes their probabilities too large: the thousands of others together hold about a
tenth. The logits of those others, w · h + b, are nearly normally distributed over the types. The mean of the
exponentials of a normal variable is exp(μ + σ²/2), so n such types add about n exp(μ + σ²/2). μ and σ² follow from the
mean and the covariance C of the layer's rows [w, b]:

    μ = w̄ · h + b̄,    σ² = hᵀ C_ww h + 2 c_wb · h + c_bb.

C_ww is taken apart into its eigenvectors. In the directions of the largest eigenvalues hᵀ C_ww h is a sum of squares of
what further rows of the output layer give; over all others, h's squared length is taken to be spread evenly.

Shapes: N hypotheses of all sentences, B sentences, F features, R rows that the output layer gets for the estimate.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

DIRECTIONS = 256


class Remainder(nn.Module):
    """Estimates the logarithm of the sum of exp(logit) over all types of an output layer but the chosen ones.

    The others are taken to be like those that are not among `always`, the types that every choice holds. `weight` and
    `bias` are for rows behind those of the output layer's types.
    """

    def __init__(self, output: nn.Module, always: Int[Tensor, " M"]) -> None:
        super().__init__()
        weight, bias = (output.get_parameter(name).detach() for name in ("weight", "bias"))
        self.types = len(weight)
        other = torch.ones(self.types, dtype=torch.bool, device=weight.device)
        other[always] = False
        rows = torch.cat([weight, bias.unsqueeze(1)], dim=1)[other if other.any() else slice(None)]
        mean, covariance = rows.mean(dim=0), torch.cov(rows.t(), correction=0)
        # μ + σ²/2 = hᵀ C_ww/2 h + (w̄ + c_wb) · h + b̄ + c_bb/2.
        values, vectors = torch.linalg.eigh(covariance[:-1, :-1] / 2)  # smallest first
        values = values.clamp(min=0)
        largest = vectors[:, -DIRECTIONS:] * values[-DIRECTIONS:].sqrt()
        of_squares, of_linear = largest.t(), (mean[:-1] + covariance[:-1, -1]).unsqueeze(0)
        self.weight = nn.Parameter(torch.cat([of_squares, of_linear]), requires_grad=False)
        of_linear_bias = mean[-1:] + covariance[-1, -1:] / 2
        self.bias = nn.Parameter(torch.cat([bias.new_zeros(len(of_squares)), of_linear_bias]), requires_grad=False)
        self.share = float(values[:-DIRECTIONS].sum()) / len(values)  # of h's squared length

    def given(self, outputs: Num[Tensor, "N O"]) -> Num[Tensor, "N R"]:
        """Its own of the outputs of a layer that ends with its rows."""
        return outputs[:, -len(self.weight) :]

    def forward(
        self, features: Float[Tensor, "N F"], given: Float[Tensor, "N R"], chosen: Int[Tensor, " B"]
    ) -> Float[Tensor, " N"]:
        """The estimate for each row that the output layer reads, and what its further rows give of it.

        `chosen` is the number of types chosen for each sentence, whose N/B rows are neighbours.
        """
        features, given = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (features, given))
        squares = (given[:, :-1] * given[:, :-1]).sum(dim=1) + self.share * (features * features).sum(dim=1)
        others = (self.types - chosen).to(given.dtype).log()
        return (squares + given[:, -1]).unflatten(0, (len(chosen), -1)).add(others.unsqueeze(1)).flatten()
