"""Starting fast: garbage collection rests while modules and models are loaded."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_META_KERNELS = "torch._meta_registrations"


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
def without_meta_kernels() -> Iterator[None]:
    """If torch is first imported in this block, its Python kernels for the meta device are left out.

    They take a fifth of `import torch`, and serve tracing (`torch.compile`, `torch.export`) and operations on meta
    tensors. This is for processes that do neither. The module is private. A PyTorch that has no such module
    is imported whole, and one that was imported before stays as it is.
    """
    if "torch" in sys.modules:
        yield
        return
    sys.modules[_META_KERNELS] = ModuleType(_META_KERNELS)
    try:
        yield
    finally:
        del sys.modules[_META_KERNELS]  # who asks for it later gets it
