"""What is put in the place of an unknown target token: a word of the source, or what a dictionary has for it."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.system.errors import UserError
from nmt.text.corpus import read_lines
from nmt.text.tokenizers import SPACE_MARK, Tokenizer
from nmt.text.vocabulary import UNK_TOKEN


def read_dictionary(path: Path) -> dict[str, str]:
    """The translations of words, from lines of two columns: source word and target word.

    A tab parts the columns, or whitespace where the line has no tab. Empty lines are skipped. Of a word that is listed
    several times the first translation holds: dictionaries made from alignments list the best one first.

    Raises UserError where `read_lines` does, and for a line that has not two columns.
    """
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
    sentence: str, source: Tokenizer, target: Tokenizer, dictionary: Mapping[str, str]
) -> tuple[list[str], list[int]]:
    """The target tokens that a source sentence has to offer in the place of an unknown one, and for each source token
    the number of the one that it belongs to.

    - Where target tokens are words (spaCy, whitespace) they are the raw words of the source. If the source's tokens
      are pieces (sentencepiece, characters), a word is all pieces from one "▁" to the next, but for the punctuation at
      its ends, each piece of which is a word of its own. A word's attention is the sum of that of its pieces.
    - Where target tokens are pieces, an unknown one is a part of a word, and what is copied is the raw text of a single
      source token: of a piece where they are pieces too, else of a word.

    A word is looked up in the dictionary as it is written, then in lower case, and copied as it is written if the
    dictionary has neither. A part of a word is not looked up.
    """
    surfaces = source.surfaces(sentence)
    from_pieces, to_pieces = source.pieces, target.pieces
    offers: list[tuple[str, int]] = []  # tokens, and how many source tokens are behind each
    for word in _words(surfaces) if from_pieces else [[surface] for surface in surfaces]:
        raw = _bare("".join(word)) if from_pieces else word[0]
        translation = dictionary.get(raw) or dictionary.get(raw.lower())
        if from_pieces and to_pieces:
            offers += [
                (_as_word(translation, target), 1)
                if translation and _bare(surface) == raw
                else (_as_piece(surface, source, target), 1)
                for surface in word
            ]
        else:
            offers.append((_as_word(translation or raw, target), len(word)))
    owners = [number for number, (_, size) in enumerate(offers) for _ in range(size)]
    return [token for token, _ in offers], owners


def copied(
    tokens: Sequence[str], offered: Sequence[str], owners: Sequence[int], weights: Float[Tensor, "T S"]
) -> list[str]:
    """The T target tokens, with the offered one of the largest attention in the place of each that is unknown.

    `owners` are those of the source's tokens, as in `replacements`; the last of the S positions is its end's.
    """
    sums = weights.new_zeros(len(weights), len(offered))
    owners = owners[: weights.shape[1] - 1]
    sums.index_add_(1, torch.tensor(owners), weights[:, : len(owners)])
    best = sums.argmax(dim=1).tolist()
    return [offered[s] if token == UNK_TOKEN else token for token, s in zip(tokens, best, strict=True)]


def _words(surfaces: list[str]) -> list[list[str]]:
    """The pieces of each word, and of each punctuation mark at a word's ends, with the marks that go before them."""
    # A letter stands for each piece: m is a mark alone, p punctuation, w the others; a capital is one with a mark.
    kinds = ""
    for surface in surfaces:
        bare = surface.replace(SPACE_MARK, "")
        kind = "m" if not bare else "p" if all(unicodedata.category(c)[0] == "P" for c in bare) else "w"
        kinds += kind.upper() if bare and surface.startswith(SPACE_MARK) else kind
    return [surfaces[slice(*match.span())] for match in re.finditer("m*[wW](?:[wp]*w)?|m*[pP]|m+", kinds)]


def _bare(surface: str) -> str:
    """Without the marks of spaces; a text of nothing else stays, since no token is empty."""
    return surface.replace(SPACE_MARK, "") or surface


def _as_word(word: str, target: Tokenizer) -> str:
    return SPACE_MARK + word if target.marks_words else word


def _as_piece(surface: str, source: Tokenizer, target: Tokenizer) -> str:
    foreign = source.marks_words and target.pieces and not target.marks_words
    return _bare(surface) if foreign else surface
