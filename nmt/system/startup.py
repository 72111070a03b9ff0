"""Starting fast, and stopping at once: what holds while modules and models are loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from types import FrameType, ModuleType

_META_KERNELS = "torch._meta_registrations"
_COMMANDS = "spacy.cli"


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
    with _standing_in(ModuleType(_META_KERNELS)):
        yield


@contextmanager
def without_spacy_cli() -> Iterator[None]:
    """If spaCy is first imported in this block, its command line is left out, and the web clients that it imports.

    That is 40 % of `import spacy`. `spacy.info` does nothing then, and `spacy.cli` must be imported by its name. This
    is for processes that need neither.
    """
    spacy = None if "spacy" in sys.modules else find_spec("spacy")
    if spacy is None:
        yield
        return
    commands, info = ModuleType(_COMMANDS), ModuleType(f"{_COMMANDS}.info")
    commands.__path__ = [os.path.join(folder, "cli") for folder in spacy.submodule_search_locations or ()]
    info.__dict__["info"] = lambda *_: None
    with _standing_in(commands, info):
        yield


@contextmanager
def _standing_in(*modules: ModuleType) -> Iterator[None]:
    """Whoever imports these names in this block gets the modules. Whoever asks later gets the real ones."""
    try:
        sys.modules |= {module.__name__: module for module in modules}
        yield
    finally:
        for module in modules:
            sys.modules.pop(module.__name__, None)


@contextmanager
def imports_stopped_by_ctrl_c() -> Iterator[None]:
    """Inside the block, Ctrl-C during an import ends the process at once, with exit code 130.

    Some modules of PyTorch and NumPy drop a `KeyboardInterrupt` while they are imported, or turn it into an
    `ImportError`. At any other time Ctrl-C raises `KeyboardInterrupt`, as without the block, which also does nothing in
    other threads than the first and where SIGINT is ignored or already handled.
    """
    own = threading.current_thread() is threading.main_thread()
    if not (own and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            with suppress(Exception):  # a stream that is being written, or nobody's any more
                sys.stdout.flush()
                print("\nStopped.", file=sys.stderr, flush=True)
            os._exit(130)
        frame = frame.f_back
    signal.default_int_handler(number, frame)
