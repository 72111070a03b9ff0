"""First values of weights. A module gives them to its own parameters, in `reset_parameters`.

On PyTorch's meta device a weight has a shape and no values: nothing is drawn there.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

GATES, LSTM_GATES = 3, 4  # of a GRU and of an LSTM, whose weights are one matrix


def glorot(weight: Float[Tensor, "O I"], matrices: int = 1) -> None:
    """Uniform within ±√(6 / (I + O)) (Glorot and Bengio 2010), for each of the matrices that make up a weight."""
    if not weight.is_meta:
        for matrix in weight.chunk(matrices):
            nn.init.xavier_uniform_(matrix)


def orthogonal(weight: Float[Tensor, "O I"], matrices: int = 1) -> None:
    """A random orthogonal matrix (Saxe et al. 2014), or each of several."""
    if not weight.is_meta:
        for matrix in weight.chunk(matrices):
            nn.init.orthogonal_(matrix)


def normal(weight: Float[Tensor, "V E"]) -> None:
    """N(0, 1/E) for vectors of E numbers: their squares sum to about 1."""
    if not weight.is_meta:
        nn.init.normal_(weight, std=weight.shape[1] ** -0.5)


def zero(bias: Float[Tensor, " O"]) -> None:
    """Zeros."""
    if not bias.is_meta:
        nn.init.zeros_(bias)


def forgetting_nothing(bias: Float[Tensor, " G"]) -> None:
    """Ones for an LSTM's forget gates (Jozefowicz et al. 2015, section 2.2), and zeros."""
    zero(bias)
    if not bias.is_meta:
        nn.init.ones_(bias.chunk(LSTM_GATES)[1])
