"""Text to tokens and back. Each tokenizer is one class in one file, which `data.{source,target}.tokenizer` names."""

from __future__ import annotations

from nmt.registry import Registry
from nmt.text.tokenizers.base import SPACE_MARK, Tokenizer, TokenizerOptions

TOKENIZERS: Registry[Tokenizer] = Registry(f"{__name__}:Tokenizer")

__all__ = ["SPACE_MARK", "TOKENIZERS", "Tokenizer", "TokenizerOptions"]
