"""The encoder's GRU or LSTM as ONNX's own operator, which takes the lengths of padded sentences.

PyTorch's tracer would write a packed sequence, with the sorting that belongs to it, and fails where only the final
states are read.

Shapes: S source positions, B sentences, I inputs, H state of a direction, G gates, D = 2 directions.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

# The gates in ONNX's order, by their indices in PyTorch's: update, reset, candidate; input, output, forget, candidate.
_GATES = {"GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2)}


class RecurrentOperator(nn.Module):
    """What stands for `nmt.model.encoder.BidirectionalGRU` or `BidirectionalLSTM` while an encoder is traced."""

    def __init__(self, rnn: nn.RNNBase) -> None:
        super().__init__()
        self.operator, self.size, self.layers = rnn.mode, rnn.hidden_size, rnn.num_layers
        for layer in range(self.layers):
            for kind in ("weight_ih", "weight_hh"):
                self.register_buffer(f"{kind}_{layer}", torch.stack(self._directions(rnn, kind, layer)))
            biases = (torch.stack(self._directions(rnn, kind, layer)) for kind in ("bias_ih", "bias_hh"))
            self.register_buffer(f"bias_{layer}", torch.cat(list(biases), dim=1))

    def _directions(self, rnn: nn.RNNBase, kind: str, layer: int) -> list[Tensor]:
        """A layer's weights or biases forward and backward, their gates in ONNX's order."""
        weights = (getattr(rnn, f"{kind}_l{layer}{end}").detach() for end in ("", "_reverse"))
        return [torch.cat([w.split(self.size)[gate] for gate in _GATES[self.operator]]) for w in weights]

    def forward(
        self, inputs: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], Float[Tensor, "B M"]]:
        """The top layer's states and the final ones, in shape. Their values are those of the graph alone."""
        states, final = inputs.transpose(0, 1), inputs
        for layer in range(self.layers):
            weights = (getattr(self, f"{name}_{layer}") for name in ("weight_ih", "weight_hh", "bias"))
            states, final = _Layer.apply(states, *weights, lengths.int(), self.operator, self.size)  # type: ignore[no-untyped-call]
            states = states.transpose(1, 2).flatten(2)
        return states.transpose(0, 1), final.transpose(0, 1).flatten(1)


class _Layer(torch.autograd.Function):
    """(S B I) → all states (S D B H) and the final ones (D B H)."""

    @staticmethod
    def forward(ctx: Any, *values: Any) -> tuple[Tensor, Tensor]:  # noqa: ARG004 - PyTorch passes it
        inputs, *_, size = values
        steps, rows, _ = inputs.shape
        return inputs.new_zeros(steps, 2, rows, size), inputs.new_zeros(2, rows, size)

    @staticmethod
    def symbolic(
        g: Any, inputs: Any, w_ih: Any, w_hh: Any, bias: Any, lengths: Any, operator: str, size: int
    ) -> tuple[Any, Any]:
        options: dict[str, Any] = {"hidden_size_i": size, "direction_s": "bidirectional"}
        if operator == "GRU":
            options["linear_before_reset_i"] = 1  # as in PyTorch: the reset gate takes the recurrent bias, too
        states, final, *_ = g.op(
            operator, inputs, w_ih, w_hh, bias, lengths, outputs=2 if operator == "GRU" else 3, **options
        )
        return states, final
