"""Where a checkpoint is: a path, or on the Hugging Face Hub `hf://OWNER/NAME` or `hf://OWNER/NAME@REVISION`."""

from __future__ import annotations

from pathlib import Path

from nmt import addons
from nmt.system.errors import UserError

PREFIX = "hf://"


def is_address(path: str | Path) -> bool:
    """Whether it names a checkpoint of the hub."""
    return str(path).startswith(PREFIX)


def model_name(path: str | Path) -> str:
    """A checkpoint's name for people: OWNER/NAME of the hub, or the folder of its run."""
    return str(path).removeprefix(PREFIX) if is_address(path) else Path(path).resolve().parent.name


def local(path: str | Path) -> str:
    """A checkpoint's path; that of an address is downloaded unless it is there. Raises `UserError` if it cannot be."""
    if not is_address(path):
        return str(path)
    hub = addons.offered("hub")
    if hub is None:
        raise UserError(f"{path}: the add-on nmt.export, which downloads models, is not installed")
    downloaded: str = hub.fetch(str(path))
    return downloaded
