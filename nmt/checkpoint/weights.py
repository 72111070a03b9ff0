"""The weights in a checkpoint: in 32 or 16 bits, or matrices in 8 with a scale for each row; checked before use."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, int8

from nmt.checkpoint.file import DamagedFile
from nmt.kernels.byte_products import in_bytes


def in_8_bits(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights with whole numbers to ±127 for matrices, and by the names of these the scales of their rows.

    Vectors, and matrices of one row, are copied: on a GPU, those of an RNN lie in one block of memory with its
    matrices, and the whole block would be saved with them. Other matrices that several names share stay shared.
    """
    numbers, scales = dict(weights), {}
    done: dict[int, tuple[Tensor, Tensor]] = {}
    for name, weight in weights.items():
        if weight.dim() < 2 or len(weight) < 2:
            numbers[name] = weight.clone()
            continue
        if weight.data_ptr() not in done:
            rows, scale = in_bytes(weight.flatten(1))
            done[weight.data_ptr()] = rows.view_as(weight), scale
        numbers[name], scales[name] = done[weight.data_ptr()]
    return numbers, scales


def restored(
    where: str, needed: Mapping[str, Tensor], weights: Mapping[str, Tensor], scales: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The weights with real numbers for whole ones that have scales.

    Those of a shape that is not needed stay as they are. Raises `DamagedFile` for scales that cannot be.
    """
    real = dict(weights)
    for name, scale in scales.items():
        weight = weights.get(name)
        if weight is None or weight.dtype != int8 or not weight.dim():
            there = f"{described(weight)}, not to rows of 8 bits"
            raise DamagedFile(f"{where}: scales.{name} belongs to {there}: use another copy")
        if not scale.is_floating_point() or scale.shape != weight.shape[:1]:
            there = f"{described(scale)}, but {name} is {described(weight)}"
            raise DamagedFile(f"{where}: scales.{name} is {there}: use another copy")
        factors = scale.float()
        if not (factors.isfinite() & (factors > 0)).all():
            raise DamagedFile(f"{where}: scales.{name} holds a value that no row can have: use another copy")
        if name in needed and weight.shape == needed[name].shape:
            real[name] = weight.float().mul_(factors.view(-1, *[1] * (weight.dim() - 1)))
    return real


def check_weights(where: str, needed: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Raise `DamagedFile` unless the weights have the needed names, shapes and kind, and are finite in 32 bits."""
    for name in sorted(needed.keys() | weights.keys()):
        there, expected = (described(tensors.get(name)) for tensors in (weights, needed))
        if there != expected:
            raise DamagedFile(f"{where}: {name} is {there}, but {expected} is needed: use another copy")
        if not weights[name].float().isfinite().all():
            raise DamagedFile(f"{where}: {name} holds a value that is not finite: use another copy")


def described(weight: Tensor | None) -> str:
    if weight is None:
        return "nothing"
    kind = "real numbers" if weight.is_floating_point() else f"{weight.dtype}"
    return f"{kind} of shape {tuple(weight.shape)}"
