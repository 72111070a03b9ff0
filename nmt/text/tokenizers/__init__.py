"""Text to tokens and back. Each tokenizer is one class in one file, which `data.{source,target}.tokenizer` names."""

from __future__ import annotations

from nmt.registry import Registry
from nmt.text.tokenizers.base import SPACE_MARK, Tokenizer, TokenizerOptions

TOKENIZERS: Registry[Tokenizer] = Registry(f"{__name__}:Tokenizer")

__all__ = ["SPACE_MARK", "TOKENIZERS", "Tokenizer", "TokenizerOptions", "make_tokenizer"]


def make_tokenizer(kind: str, language: str, lowercase: bool, model: bytes | None = None) -> Tokenizer:
    """The tokenizer of that kind; `model` is for those that learn one.

    Raises `UserError` if the tokenizer has no rules for the language, ValueError if it needs a model and gets none.
    """
    return TOKENIZERS[kind].make(language, lowercase, model)
