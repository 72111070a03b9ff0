"""What a text's tokens took to find, kept on disk: subword models and tokens, made once for each text and tokenizer.

A file is named by a hash of all that decides its content: the text, the tokenizer with its settings, the versions of
the libraries that it asks, and our own rules. So nothing in the folder is ever out of date; any of it may be deleted.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import unicodedata
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nmt.data import tokenizers
from nmt.data.tokenizers import SentencePieceTokenizer, SpacyTokenizer, Tokenizer, train_sentencepiece
from nmt.errors import UserError
from nmt.files import replacing

Arrays = dict[str, NDArray[Any]]


def tokenize_lines(tokenizer: Tokenizer, lines: Sequence[str], folder: Path | None) -> list[list[str]]:
    """The tokens of each line: those in the folder if they are there, else found now and kept there.

    Only spaCy's and sentencepiece's tokens are kept; the others are found faster than read. None: no folder is used.
    """
    if folder is None or not _is_worth_it(tokenizer):
        return [tokenizer.tokenize(line) for line in lines]
    path = folder / f"tokens-{_digest(repr(tokenizer), lines)}.npz"
    return _unpacked(_kept(path, lambda: _packed([tokenizer.tokenize(line) for line in lines])))


def subword_model(
    lines: Sequence[str],
    vocabulary_size: int,
    model_type: Literal["unigram", "bpe"],
    lowercase: bool,
    folder: Path | None,
) -> bytes:
    """`train_sentencepiece`'s model: the one in the folder if it is there, else trained now and kept there."""

    def train() -> Arrays:
        model = train_sentencepiece(lines, vocabulary_size, model_type, lowercase)
        return {"model": np.frombuffer(model, dtype=np.uint8)}

    if folder is None:
        return train()["model"].tobytes()
    path = folder / f"subwords-{_digest(f'{vocabulary_size} {model_type} {lowercase}', lines)}.npz"
    return _kept(path, train)["model"].tobytes()


def _is_worth_it(tokenizer: Tokenizer) -> bool:
    if isinstance(tokenizer, SpacyTokenizer):
        return tokenizer.rules_are_spacys  # of other packages' rules no version is known here
    return isinstance(tokenizer, SentencePieceTokenizer)


def _digest(settings: str, lines: Sequence[str]) -> str:
    """A hash of the text and all else that its tokens depend on."""
    rules = [inspect.getsource(tokenizers), unicodedata.unidata_version, version("spacy"), version("sentencepiece")]
    content = json.dumps([rules, settings, list(lines)], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _kept(path: Path, make: Callable[[], Arrays]) -> Arrays:
    """The arrays in the file; if it is missing or damaged, those made now, and kept there if it can be written."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        pass
    except Exception as error:  # numpy and zipfile raise many kinds for a damaged file
        print(f"{path} cannot be read ({type(error).__name__}): making it anew", file=sys.stderr)
    made = make()
    try:
        with replacing(path) as out:
            np.savez(out, **made)  # type: ignore[arg-type]  # the stub takes any of the names for an option's
    except UserError as error:
        print(f"{error}; until then, the text is tokenised by every run", file=sys.stderr)
    return made


def _packed(sentences: list[list[str]]) -> Arrays:
    """The types in one text, a line each (no token holds whitespace), the tokens as their numbers, and the lengths."""
    numbers: dict[str, int] = {}
    tokens = [numbers.setdefault(token, len(numbers)) for sentence in sentences for token in sentence]
    return {
        "types": np.frombuffer("\n".join(numbers).encode("utf-8", "surrogatepass"), dtype=np.uint8),
        "tokens": np.array(tokens, dtype=np.int32),
        "lengths": np.array([len(sentence) for sentence in sentences], dtype=np.int32),
    }


def _unpacked(arrays: Arrays) -> list[list[str]]:
    types = np.array(arrays["types"].tobytes().decode("utf-8", "surrogatepass").split("\n"), dtype=object)
    tokens: list[str] = types[arrays["tokens"]].tolist()
    ends = arrays["lengths"].cumsum().tolist()
    return [tokens[end - length : end] for end, length in zip(ends, arrays["lengths"].tolist(), strict=True)]
