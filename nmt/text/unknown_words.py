"""What replaces an unknown target token: a word of the source sentence, or its translation in a dictionary."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.system.errors import UserError
from nmt.text.tokenizers import SPACE_MARK, Tokenizer
from nmt.text.tokenizers.case import MARKS
from nmt.text.vocabulary import UNK_TOKEN


def read_dictionary(path: Path) -> dict[str, str]:
    """The translations of words, from lines of two columns: source word and target word.

    Columns are separated by a tab, or by whitespace in a line without a tab. Empty lines are skipped. If a word is
    listed several times, its first translation is used: dictionaries made from alignments list the best one first.

    Raises UserError as `read_lines` does, and for a line that does not have two columns.
    """
    from nmt.text.corpus import read_lines

    translations: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")] if "\t" in line else line.split()
        if len(columns) != 2 or not all(columns):
            raise UserError(f"{path}, line {number}: not two columns; write a source word, a tab, and the target word")
        translations.setdefault(*columns)
    return translations


def replacements(
    surfaces: list[str], source: Tokenizer, target: Tokenizer, dictionary: Mapping[str, str]
) -> tuple[list[str], list[int]]:
    """The target tokens that a source sentence offers as replacements, and for each source token its offer's index.

    `surfaces` are those of the source tokens.

    - If target tokens are words (spaCy, whitespace), the offers are the raw words of the source. If the source's tokens
      are pieces (sentencepiece, characters), a word consists of all pieces from one "▁" to the next, except for
      punctuation at its ends, each piece of which is a word of its own. A word's attention is the sum over its pieces.
    - If target tokens are pieces, an unknown one is part of a word, and the raw text of a single source token is
      copied: of a piece if source tokens are pieces, too, and otherwise of a word.

    A word is looked up in the dictionary as written, then in lower case, and is copied as written if the dictionary has
    neither. Parts of words are not looked up.
    """
    offers: list[tuple[str, int]] = []  # tokens, and how many source tokens are behind each
    begins = [place for place, surface in enumerate(surfaces) if surface not in source.spacing]
    words = [surfaces[begin:end] for begin, end in pairwise([*begins, len(surfaces)])]  # with the marks behind them
    for word in words_of(surfaces) if source.pieces else words:
        raw = _bare("".join(word)) if source.pieces else word[0]
        translation = dictionary.get(raw) or dictionary.get(raw.lower())
        if not (source.pieces and target.pieces):
            offers.append((_as_word(translation or raw, target), len(word)))
            continue
        for surface in word:
            is_word = translation and _bare(surface) == raw
            piece = _bare(surface) if source.marks_words and not target.marks_words else surface
            offers.append((_as_word(translation or "", target) if is_word else piece, 1))
    owners = [number for number, (_, size) in enumerate(offers) for _ in range(size)]
    return [token for token, _ in offers], owners


def copied(
    tokens: Sequence[str], offered: Sequence[str], owners: Sequence[int], weights: Float[Tensor, "T S"]
) -> list[str]:
    """The T target tokens, with each unknown one replaced by the offer that has the largest attention.

    `owners` gives each source token's offer, as in `replacements`; the last of the S positions is the end token's.
    """
    sums = weights.new_zeros(len(weights), len(offered))
    owners = owners[: weights.shape[1] - 1]
    sums.index_add_(1, torch.tensor(owners), weights[:, : len(owners)])
    best = sums.argmax(dim=1).tolist()
    return [offered[s] if token == UNK_TOKEN else token for token, s in zip(tokens, best, strict=True)]


def words_of(surfaces: list[str]) -> list[list[str]]:
    """The pieces of each word, and of each punctuation mark at a word's ends, with the space marks before them."""
    # One letter per piece: m is a space mark by itself, p punctuation, w anything else; a capital has a space mark.
    kinds = ""
    for surface in surfaces:
        bare = surface.replace(SPACE_MARK, "")
        kind = "m" if not bare else "p" if all(unicodedata.category(c)[0] == "P" for c in bare) else "w"
        kinds += kind.upper() if bare and surface.startswith(SPACE_MARK) else kind
    return [surfaces[slice(*match.span())] for match in re.finditer("m*[wW](?:[wp]*w)?|m*[pP]|m+", kinds)]


def _bare(surface: str) -> str:
    """The text without marks of spaces and case; a text of marks only stays as it is, since no token is empty."""
    bare = reduce(lambda text, mark: text.replace(mark, ""), MARKS, surface)
    return bare.replace(SPACE_MARK, "") or surface


def _as_word(word: str, target: Tokenizer) -> str:
    return SPACE_MARK + word if target.marks_words else word
