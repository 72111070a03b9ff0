from collections import Counter

import pytest

from nmt.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, build_vocabulary

COUNTS = Counter("cba cb cde".replace(" ", ""))


def test_special_tokens_first_then_the_most_frequent_and_ties_alphabetical() -> None:
    vocabulary = build_vocabulary(COUNTS)
    assert vocabulary.tokens == (*SPECIALS, "c", "b", "a", "d", "e")
    assert SPECIALS == ("<unk>", "<pad>", "<bos>", "<eos>")
    assert (UNK, PAD, BOS, EOS) == (0, 1, 2, 3)
    assert build_vocabulary(Counter(dict(reversed(COUNTS.items())))) == vocabulary


@pytest.mark.parametrize(
    ("min_frequency", "max_size", "types"),
    [(2, None, "cb"), (3, None, "c"), (4, None, ""), (1, 1, "c"), (1, 3, "cba"), (1, 99, "cbade"), (2, 1, "c")],
)
def test_rare_types_are_cut(min_frequency: int, max_size: int | None, types: str) -> None:
    assert build_vocabulary(COUNTS, min_frequency, max_size).tokens[4:] == tuple(types)


def test_encode_and_decode() -> None:
    vocabulary = build_vocabulary(COUNTS)
    assert vocabulary.encode(["b", "z", "c", "C"]) == [5, UNK, 4, UNK]
    assert vocabulary.encode([]) == []
    assert vocabulary.decode([5, UNK, 4, EOS]) == ["b", "<unk>", "c", "<eos>"]


def test_specials_spelt_in_the_text_are_unknown_words() -> None:
    vocabulary = build_vocabulary(Counter([*SPECIALS, "a", *SPECIALS]))
    assert vocabulary.tokens == (*SPECIALS, "a")
    assert vocabulary.encode(SPECIALS) == [UNK] * 4
