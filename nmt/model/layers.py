"""Linear layers and embeddings: PyTorch's own, and the values that their weights begin with."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn


def glorot(weight: Float[Tensor, "O I"], matrices: int = 1) -> None:
    """Uniform within ±√(6 / (I + O)) (Glorot and Bengio 2010), for each of the matrices stacked in a weight."""
    for matrix in _chunks(weight, matrices):
        nn.init.xavier_uniform_(matrix)


def orthogonal(weight: Float[Tensor, "O I"], matrices: int = 1) -> None:
    """A random orthogonal matrix (Saxe et al. 2014), or one for each of the matrices stacked in a weight."""
    for matrix in _chunks(weight, matrices):
        nn.init.orthogonal_(matrix)


def open_forget_gates(bias: Float[Tensor, " G"]) -> None:
    """Ones for an LSTM's forget gates (Jozefowicz et al. 2015, section 2.2), zeros for its other gates."""
    nn.init.zeros_(bias)
    nn.init.ones_(bias.chunk(4)[1])


def _chunks(weight: Float[Tensor, "O I"], matrices: int) -> tuple[Tensor, ...]:
    """The matrices stacked in a weight; none on the meta device, where nothing is to be drawn."""
    return () if weight.is_meta else weight.chunk(matrices)


class Linear(nn.Linear):
    """`torch.nn.Linear`. Its first weight is Glorot's, its first bias 0."""

    matrices = 1  # that are stacked in its weight

    def reset_parameters(self) -> None:
        glorot(self.weight, self.matrices)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class Embedding(nn.Embedding):
    """`torch.nn.Embedding` from N(0, 1/E). Its weight may be that of the output layer, too."""

    def reset_parameters(self) -> None:
        if not self.weight.is_meta:
            nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)  # an embedding's squares sum to about 1
