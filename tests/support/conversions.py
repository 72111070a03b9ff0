"""How often something is made a tensor of another type."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Conversions(TorchDispatchMode):
    """Counts the tensors of some shapes that are made of a type."""

    def __init__(self, dtype: torch.dtype, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.dtype, self.shapes, self.count = dtype, shapes, 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if function is torch.ops.aten._to_copy.default:
            self.count += made.dtype == self.dtype and tuple(made.shape) in self.shapes
        return made
