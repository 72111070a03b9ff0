"""What replaces an unknown target token: a word of the source sentence, or its translation in a dictionary."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.system.errors import UserError
from nmt.text.tokenizers import SPACE_MARK, Tokenizer
from nmt.text.vocabulary import UNK_TOKEN
from nmt.text.words import joined, word_numbers


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

    - Of words, offers are the source's words, as `word_numbers` joins their pieces. A word's attention is the sum over
      its pieces. It is looked up in the dictionary as written, then in lower case, and is copied as written if the
      dictionary has neither.
    - If the tokens of both sides are pieces, an unknown one is part of a word, and a single source token is copied.
    """
    if source.pieces and target.pieces:
        has_marks = source.marks_words and not target.marks_words
        pieces = [surface.replace(SPACE_MARK, "") or surface if has_marks else surface for surface in surfaces]
        return pieces, list(range(len(pieces)))
    owners = word_numbers(surfaces, source.pieces)
    words = [dictionary.get(word) or dictionary.get(word.lower()) or word for word in joined(surfaces, owners)]
    return [SPACE_MARK + word if target.marks_words else word for word in words], owners


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
