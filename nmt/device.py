"""The name of a device → the device."""

from __future__ import annotations

import torch

from nmt.errors import UserError


def choose_device(name: str) -> torch.device:
    """`auto` is a GPU where there is one. Raises `UserError` for a device that does not exist here."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise UserError(f"device: {name!r} cannot be used here; choose auto, cpu or cuda") from None
    return device
