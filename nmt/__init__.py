"""Attention-based neural machine translation. Start with `nmt.Translator.load()`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt.translator import Translation, Translator

__all__ = ["Translation", "Translator", "__version__"]
__version__ = "0.3.0"  # the only place: pyproject.toml reads it from here


def __getattr__(name: str) -> Any:
    """Import the translator when it is first asked for, so that `import nmt` costs nothing."""
    if name in __all__:
        from nmt import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'nmt' has no attribute {name!r}")
