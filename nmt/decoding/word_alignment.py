"""Attention of tokens as attention of words, and the links between words that it makes.

A link is a pair of positions (source word, target word), counted from 0. Weights are summed to words first, and links
are made of the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np
from jaxtyping import Float

from nmt.text.tokenizers.case import MARKS, SPACE_MARK
from nmt.text.tokenizers.spacy import JOINT

Link = tuple[int, int]


def best_links(weights: Float[np.ndarray, "T S"], guided: bool = False) -> frozenset[Link]:
    """The links of T target words by their attention to S source words, without that to `<eos>`.

    Each is linked to the source word of the largest weight (Luong et al. 2015, section 5.4), if there is one above 0.
    Attention that was trained by guided alignment has learnt more: each is linked to all source words that have at
    least half of the largest weight, and to none if `<eos>` has more than that.
    """
    if weights.size == 0:
        return frozenset()
    largest = weights.max(axis=1, keepdims=True)
    if guided:
        is_linked = (weights >= largest / 2) & (largest >= 1 - weights.sum(axis=1, keepdims=True))
    else:
        is_linked = np.arange(weights.shape[1]) == weights.argmax(axis=1)[:, None]
    return frozenset((int(s), int(t)) for t, s in np.argwhere(is_linked & (largest > 0)))


def word_attention(
    attention: Float[np.ndarray, "T S"],
    source_shares: Float[np.ndarray, "V S-1"],
    target_shares: Float[np.ndarray, "W T"],
) -> Float[np.ndarray, "W V"]:
    """Attention of T target tokens to S source tokens, the last of them `<eos>`, as that of W words to V words.

    A source word's weight is the sum over its tokens, a target word's row the mean over its tokens' rows, each token
    weighted by its share in the word. `<eos>` is left out: no word can be linked to it.
    """
    totals = target_shares.sum(axis=1, keepdims=True)
    means = np.divide(target_shares, totals, out=np.zeros_like(target_shares), where=totals > 0)
    return means @ attention[:, :-1] @ source_shares.T


def token_shares(surfaces: Sequence[str], words: Sequence[str]) -> Float[np.ndarray, "W T"]:
    """The share of each token that lies in each word, by characters: a column per token, which sums to 1.

    Both are the same text, split differently; case, whitespace and "▁" do not count. Where a tokenizer has changed
    other characters, the unchanged ones around them give their positions. A token "▁" alone belongs to the word after
    it, as sentencepiece's mark does. All shares are 0 if the words have no characters.
    """
    word_of = [number for number, word in enumerate(words) for _ in _letters(word)]
    shares = np.zeros((len(words), len(surfaces)))
    positions = _positions("".join(map(_letters, surfaces)), "".join(map(_letters, words))) if word_of else []
    start = 0
    for token, surface in enumerate(surfaces):
        length = len(_letters(surface))
        for position in positions[start : start + max(length, 1)]:
            shares[word_of[position], token] += 1
        shares[:, token] /= max(length, 1)
        start += length
    return shares


def _letters(text: str) -> str:
    return "" if text in MARKS or text == JOINT else "".join(text.lower().split()).replace(SPACE_MARK, "")


def _positions(text: str, other: str) -> list[int]:
    """The place in `other`, not empty, of each character of `text` and of its end: its equal, or one near it."""
    last = len(other) - 1
    if text == other:
        return [*range(len(other)), last]
    positions: list[int] = []
    for _, begin, end, low, high in SequenceMatcher(None, text, other, autojunk=False).get_opcodes():
        positions += (min(low + (i - begin) * (high - low) // (end - begin), last) for i in range(begin, end))
    return [*positions, last]
