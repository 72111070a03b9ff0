"""The one place where nmt reaches `nmt.fast`. Without that folder, or with `fast=False`, all is plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt.system.errors import UserError

if TYPE_CHECKING:
    from nmt.data.batching import Batch
    from nmt.decoding.ensemble import TranslationModel

Precision: TypeAlias = Literal["float32", "bf16", "int8"]
GradientFunction: TypeAlias = "Callable[[Batch | None, Bool[Tensor, 'B T'] | None], Float[Tensor, '']]"
"""Adds the gradient of a batch's summed loss to the weights', and returns the summed NLL, in nats."""


def for_training(
    losses: nn.Module, precision: Precision, sampled_softmax: tuple[Tensor, int] | None = None, *, fast: bool = True
) -> GradientFunction:
    """The function that adds a batch's gradient; `losses` is a `BatchLoss`, or DistributedDataParallel's of one.

    `sampled_softmax` is the frequency of each target token in the training text, and how many tokens an update draws.
    Raises `UserError` if only `nmt.fast` has it.
    """
    room = _room() if fast else None
    if room is not None:
        return room.accelerate(losses, precision, sampled_softmax)
    if sampled_softmax is not None:
        raise UserError("training.sampled_softmax needs nmt.fast: set training.fast to true, or leave it out")
    return plain_gradient(losses, precision)


def for_inference(model: TranslationModel, precision: str, *, fast: bool = True) -> TranslationModel:
    """The model for search, with its weights of now. Raises `UserError` for a precision that only `nmt.fast` has."""
    room = _room() if fast else None
    if room is not None:
        return room.prepare_for_inference(model, precision)
    if precision != "float32":
        raise UserError(f"search.precision: {precision} needs nmt.fast, which is off or missing: use float32")
    return model


def resolve_precision(precision: str, device: torch.device, purpose: str, *, fast: bool = True) -> Precision:
    """What `auto` is for training or search on this device; any other precision itself."""
    if precision != "auto":
        return precision  # type: ignore[return-value]
    room = _room() if fast else None
    return "float32" if room is None else room.auto_precision(device, purpose)


def _room() -> ModuleType | None:
    return import_module("nmt.fast") if find_spec("nmt.fast") is not None else None


def plain_gradient(losses: nn.Module, precision: Precision) -> GradientFunction:
    """The function that adds a batch's gradient by PyTorch's own functions."""
    device = next(losses.parameters()).device.type

    def add_gradient(batch: Batch | None, teacher_forcing_mask: Tensor | None) -> Tensor:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            loss = losses(batch, teacher_forcing_mask)
        loss.smoothed.backward()
        return loss.nll.detach()

    return add_gradient
