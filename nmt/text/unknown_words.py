"""What replaces an unknown target token: a word of the source sentence."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.text.tokenizers import SPACE_MARK, Tokenizer
from nmt.text.vocabulary import UNK_TOKEN
from nmt.text.words import joined, word_numbers


def replacements(surfaces: list[str], source: Tokenizer, target: Tokenizer) -> tuple[list[str], list[int]]:
    """The target tokens that a source sentence offers as replacements, and for each source token its offer's index.

    `surfaces` are those of the source tokens.

    - Of words, offers are the source's words, as `word_numbers` joins their pieces. A word's attention is the sum over
      its pieces. It is copied as written.
    - If the tokens of both sides are pieces, an unknown one is part of a word, and a single source token is copied.
    """
    if source.pieces and target.pieces:
        has_marks = source.marks_words and not target.marks_words
        pieces = [surface.replace(SPACE_MARK, "") or surface if has_marks else surface for surface in surfaces]
        return pieces, list(range(len(pieces)))
    owners = word_numbers(surfaces, source.pieces)
    words = joined(surfaces, owners)
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
