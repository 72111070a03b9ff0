"""What is put in the place of an unknown target token, for all pairs of tokenizers."""

import pytest
import torch

from nmt.text.tokenizers import TOKENIZERS, Tokenizer
from nmt.text.tokenizers.sentencepiece import train_sentencepiece
from nmt.text.unknown_words import copied, replacements
from nmt.text.words import words_of

SENTENCE = "Der Übermut (namens UHU-Po) lacht, Ä!"
SPACY = ["Der", "Übermut", "(", "namens", "UHU-Po", ")", "lacht", ",", "Ä", "!"]
KINDS = ("spacy", "whitespace", "char")
SOURCE = {kind: TOKENIZERS[kind].make("de", True, None) for kind in KINDS}
WORDS = [TOKENIZERS[kind].make("en", True, None) for kind in KINDS[:2]]
CHAR = SOURCE["char"]


@pytest.fixture(scope="session")
def piece() -> Tokenizer:
    """Lower-cased subwords of letters, of "er" and of "acht", and no other."""
    model = train_sentencepiece(["der übermut (namens uhu-po) lacht, ä!", "er er acht acht"], 32, "bpe", lowercase=True)
    return TOKENIZERS["sentencepiece"].make("de", True, model)


def offered(sentence: str, source: Tokenizer, target: Tokenizer) -> list[str]:
    tokens, owners = replacements(source.surfaces(sentence), source, target)
    assert len(owners) == len(source.tokenize(sentence))
    assert owners == sorted(owners)
    assert set(owners) == set(range(len(tokens)))
    return tokens


def test_raw_words_are_offered_without_the_punctuation_around_them(piece: Tokenizer) -> None:
    for target in WORDS:
        assert offered(SENTENCE, SOURCE["whitespace"], target) == SENTENCE.split()
        for source in (SOURCE["spacy"], piece, CHAR):
            assert offered(SENTENCE, source, target) == SPACY
            assert offered("(Wer,!", source, target) == ["(", "Wer", ",", "!"]
    assert offered("हिन्दी, 日本語。", CHAR, WORDS[1]) == ["हिन्दी", ",", "日本語", "。"]
    assert SOURCE["spacy"].surfaces("Uhu! ”") == ["Uhu", "￭", "!", "▁", "”"]
    assert offered("Uhu! ”", SOURCE["spacy"], WORDS[1]) == ["Uhu", "!", "”"]  # a mark of spaces is no word
    assert words_of(["▁um", "▁10.", "30"]) == [["▁um"], ["▁10.", "30"]]  # what is no punctuation belongs to its word
    assert words_of(["▁5", "€", "!"]) == [["▁5", "€"], ["!"]]


def test_each_piece_belongs_to_its_word(piece: Tokenizer) -> None:
    words, owners = replacements(piece.surfaces(SENTENCE), piece, WORDS[1])
    for number, word in enumerate(words):
        pieces = [token for token, owner in zip(piece.tokenize(SENTENCE), owners, strict=True) if owner == number]
        assert "".join(pieces).replace("▁", "") == word.lower()
    words, owners = replacements(CHAR.surfaces("Ab (c)."), CHAR, WORDS[1])
    assert (words, owners) == (["Ab", "(", "c", ")", "."], [0, 0, 1, 1, 2, 3, 4])  # a space belongs to what follows it


def test_between_pieces_a_piece_is_copied(piece: Tokenizer) -> None:
    assert offered(SENTENCE, piece, piece) == piece.surfaces(SENTENCE)
    assert offered(SENTENCE, CHAR, CHAR) == CHAR.surfaces(SENTENCE)
    assert offered("Er ä", CHAR, piece) == ["E", "r", "▁", "ä"]
    assert offered("Er ER", piece, CHAR) == ["Er", "ER"]
    for kind in ("spacy", "whitespace"):
        assert offered("Der Hai", TOKENIZERS[kind].make("de", False, None), piece) == ["▁Der", "▁Hai"]
        assert offered("Der Hai", TOKENIZERS[kind].make("de", False, None), CHAR) == ["Der", "Hai"]


@pytest.mark.parametrize("sentence", ["a ▁ b", "▁▁ ▁", "\u200b", "½ ½", "\u0301", "İ ß", "c ♥."])
def test_no_token_is_empty_whatever_the_text(piece: Tokenizer, sentence: str) -> None:
    kinds = [*WORDS, piece, CHAR]
    for source in kinds:
        for target in kinds:
            if source.tokenize(sentence):
                assert all(offered(sentence, source, target))


def test_the_end_mark_s_attention_is_no_word_s() -> None:
    """Of a source that was cut off, too: its next word was not read."""
    weights = torch.tensor([[0.4, 0.1, 0.5]])  # of a, b and <eos>
    assert copied(["<unk>"], ["a", "b", "c"], [0, 1, 2], weights) == ["a"]
