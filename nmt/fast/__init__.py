"""Everything that exists for speed. The core reaches it through the names below alone (`nmt.acceleration`).

Modules of the model are replaced by faster subclasses with the same parameters, so checkpoints, random draws and
results stay as they are. What each piece gains is in docs/explanation/performance.md.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "accelerate": "training",
    "auto_precision": "processor",
    "prepare_for_inference": "inference",
}


def __getattr__(name: str) -> Any:
    """Import what training or search needs when it is first used."""
    if name in _MODULES:
        return getattr(import_module(f"nmt.fast.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'nmt.fast' has no attribute {name!r}")
