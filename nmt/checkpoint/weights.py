"""The weights in a checkpoint: in 32 or 16 bits, or matrices in 8 with a scale for each row; checked before use."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from nmt.checkpoint.file import DamagedFile

LARGEST = 1e9  # of a weight: products of three still fit into 32 bits
_REAL = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def quantize(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights with integers up to ±127 in the place of matrices of several rows, and these rows' scales."""
    stored, scales = dict(weights), {}
    done: dict[int, tuple[Tensor, Tensor]] = {}
    for name, weight in weights.items():
        if weight.dim() > 1 and len(weight) > 1:
            if weight.data_ptr() not in done:
                integers, scale = in_bytes(weight.detach().flatten(1))
                done[weight.data_ptr()] = integers.view_as(weight), scale
            stored[name], scales[name] = done[weight.data_ptr()]
    return stored, scales


def in_bytes(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Each row (N I) as 8-bit integers, and the scales (N) to multiply them by: the largest absolute value is 127."""
    largest = torch.maximum(rows.amax(dim=1), rows.amin(dim=1).neg_())  # faster than that of absolute values
    scales = largest.clamp_(min=torch.finfo(rows.dtype).tiny * 127).div_(127)
    return (rows / scales.unsqueeze(1)).round_().to(torch.int8), scales


def dequantize(
    path: str, needed: Mapping[str, Tensor], weights: Mapping[str, Tensor], scales: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The weights with real values for integers that have scales. Raises `DamagedFile` for impossible scales."""
    real = dict(weights)
    for name, scale in scales.items():
        weight, kind = weights.get(name), described(weights.get(name))
        if weight is None or weight.dtype != torch.int8 or not weight.dim() or scale.shape != weight.shape[:1]:
            raise DamagedFile(f"{path}: scales.{name} is {described(scale)}, but {name} is {kind}: use another copy")
        if scale.dtype not in _REAL or not (scale.float().isfinite() & (scale.float() > 0)).all():
            raise DamagedFile(f"{path}: scales.{name} holds a value that no row can have: use another copy")
        if name in needed and weight.shape == needed[name].shape:
            real[name] = weight.float().mul_(scale.float().view(-1, *[1] * (weight.dim() - 1)))
    return real


def check_weights(path: str, needed: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Raise `DamagedFile` unless the weights have the needed names, shapes and kind, and are finite in 32 bits."""
    for name in sorted(needed.keys() | weights.keys()):
        actual, expected = (described(tensors.get(name)) for tensors in (weights, needed))
        if actual != expected:
            raise DamagedFile(f"{path}: {name} is {actual}, but {expected} is needed: use another copy")
        if not (weights[name].float().abs() <= LARGEST).all():
            raise DamagedFile(f"{path}: {name} holds a value that is not finite, or too large: use another copy")


def described(tensor: Tensor | None) -> str:
    """A tensor's kind and shape in the words of a message."""
    if tensor is None:
        return "nothing"
    return f"{'real numbers' if tensor.dtype in _REAL else tensor.dtype} of shape {tuple(tensor.shape)}"
