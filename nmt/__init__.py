"""Attention-based neural machine translation. Start with `nmt.Translator.load()`."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.decoding.translation import Translation
    from nmt.translator import Translator

__all__ = ["Translation", "Translator", "__version__"]
__version__ = "0.4.0"  # the only place: pyproject.toml reads it from here

# PyTorch's threads wait for each other in a loop that keeps their cores busy, by default for milliseconds: beside
# another busy process training then stands nearly still. OpenMP reads this when torch is imported. A user's own choice
# stays. See docs/explanation/performance.md.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import the translator when it is first asked for, so that `import nmt` costs nothing."""
    if name in __all__:
        from nmt import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'nmt' has no attribute {name!r}")
