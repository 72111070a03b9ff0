"""Starting fast: garbage collection rests while modules and models are loaded."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_SHAPES_ALONE = "torch._meta_registrations"


@contextmanager
def kept_for_good() -> Iterator[None]:
    """Exempt from garbage collection whatever is imported and loaded in this block, for the life of the process.

    Importing torch and spaCy creates hundreds of thousands of objects, hardly any of them garbage. Searching them for
    garbage meanwhile, and again at exit, takes a third of the time that translating one sentence takes.
    """
    was_enabled = gc.isenabled()
    gc.collect()  # what is garbage by now must not be kept
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@contextmanager
def without_shapes_alone() -> Iterator[None]:
    """Whatever imports torch first in this block leaves out how it computes shapes without values, in Python.

    That is a fifth of `import torch`, and serves tracing (`torch.compile`, `torch.export`) and operations on tensors of
    the meta device: for processes that do nothing of the kind. The module is private. A PyTorch that has no such module
    is imported whole, and one that was imported before stays as it is.
    """
    if "torch" in sys.modules:
        yield
        return
    sys.modules[_SHAPES_ALONE] = ModuleType(_SHAPES_ALONE)
    try:
        yield
    finally:
        del sys.modules[_SHAPES_ALONE]  # who asks for it later gets it
