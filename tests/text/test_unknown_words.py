"""What is put in the place of an unknown target token, for all pairs of tokenizers, and dictionaries of such words."""

from pathlib import Path

import pytest
import torch

from nmt.system.errors import UserError
from nmt.text.tokenizers import Tokenizer, make_tokenizer
from nmt.text.tokenizers.sentencepiece import train_sentencepiece
from nmt.text.unknown_words import copied, read_dictionary, replacements, words_of

SENTENCE = "Der Übermut (namens UHU-Po) lacht, Ä!"
SPACY = ["Der", "Übermut", "(", "namens", "UHU-Po", ")", "lacht", ",", "Ä", "!"]
WORDS = {"target word": make_tokenizer("spacy", "en", True), "target token": make_tokenizer("whitespace", "en", True)}


@pytest.fixture(scope="session")
def piece() -> Tokenizer:
    """Lower-cased subwords of letters, of "er" and of "acht", and no other."""
    model = train_sentencepiece(["der übermut (namens uhu-po) lacht, ä!", "er er acht acht"], 32, "bpe", lowercase=True)
    return make_tokenizer("sentencepiece", "de", True, model)


CHAR = make_tokenizer("char", "de", True)


def offered(sentence: str, source: Tokenizer, target: Tokenizer, dictionary: dict[str, str] | None = None) -> list[str]:
    tokens, owners = replacements(sentence, source, target, dictionary or {})
    assert len(owners) == len(source.tokenize(sentence))
    assert owners == sorted(owners)
    assert set(owners) == set(range(len(tokens)))
    return tokens


@pytest.mark.parametrize("target", WORDS.values(), ids=WORDS)
def test_words_are_offered_raw(target: Tokenizer) -> None:
    assert offered(SENTENCE, make_tokenizer("whitespace", "de", True), target) == SENTENCE.split()
    assert offered(SENTENCE, make_tokenizer("spacy", "de", True), target) == SPACY


@pytest.mark.parametrize("target", WORDS.values(), ids=WORDS)
def test_pieces_are_joined_to_raw_words_without_the_punctuation_around_them(
    piece: Tokenizer, target: Tokenizer
) -> None:
    for source in (piece, CHAR):
        assert len(source.tokenize(SENTENCE)) > 2 * len(SPACY)
        assert offered(SENTENCE, source, target) == SPACY
        assert offered("(Wer,!", source, target) == ["(", "Wer", ",", "!"]


def test_each_piece_belongs_to_its_word(piece: Tokenizer) -> None:
    words, owners = replacements(SENTENCE, piece, WORDS["target token"], {})
    for number, word in enumerate(words):
        own = [token for token, owner in zip(piece.tokenize(SENTENCE), owners, strict=True) if owner == number]
        assert "".join(own).replace("▁", "") == word.lower()
    words, owners = replacements("Ab (c).", CHAR, WORDS["target token"], {})
    assert (words, owners) == (["Ab", "(", "c", ")", "."], [0, 0, 1, 1, 2, 3, 4])  # a space belongs to what follows it


def test_letters_of_other_scripts_are_no_punctuation() -> None:
    assert offered("हिन्दी, 日本語。", CHAR, WORDS["target token"]) == ["हिन्दी", ",", "日本語", "。"]


def test_between_pieces_a_piece_is_copied(piece: Tokenizer) -> None:
    assert offered(SENTENCE, piece, piece) == piece.surfaces(SENTENCE)
    assert offered(SENTENCE, CHAR, CHAR) == CHAR.surfaces(SENTENCE)
    assert offered("Er ä", CHAR, piece) == ["E", "r", "▁", "ä"]
    assert offered("Er ER", piece, CHAR) == ["Er", "ER"]


def test_a_word_among_pieces_stands_alone(piece: Tokenizer) -> None:
    for kind in ("spacy", "whitespace"):
        assert offered("Der Hai", make_tokenizer(kind, "de", False), piece) == ["▁Der", "▁Hai"]
        assert offered("Der Hai", make_tokenizer(kind, "de", False), CHAR) == ["Der", "Hai"]


@pytest.mark.parametrize("sentence", ["▁", "a ▁ b", "▁▁ ▁", "\u200b", "½ ½", "\u0301", "İ ß", "♥", "c ♥."])
def test_no_token_is_empty_whatever_the_text(piece: Tokenizer, sentence: str) -> None:
    kinds = [*WORDS.values(), piece, CHAR]
    for source in kinds:
        for target in kinds:
            if source.tokenize(sentence):
                assert all(offered(sentence, source, target))


@pytest.mark.parametrize("kind", ["spacy", "whitespace", "char", "piece"])
def test_words_are_looked_up_as_they_are_and_then_in_lower_case(piece: Tokenizer, kind: str) -> None:
    source = piece if kind == "piece" else make_tokenizer(kind, "de", True)
    dictionary = {"Hai": "Shark", "hai": "shark", "übermut": "Elation", "no": "no", "achT": "eight", "leer": ""}
    for target in WORDS.values():
        found = offered("Hai HAI hai Übermut Acht Leer", source, target, dictionary)
        assert found == ["Shark", "shark", "shark", "Elation", "Acht", "Leer"]


def test_the_translation_of_a_word_is_a_word_and_parts_of_words_have_none(piece: Tokenizer) -> None:
    assert piece.tokenize("Er der, Acht 日") == ["▁er", "▁", "d", "er", ",", "▁acht", "▁", "日"]
    dictionary = {"er": "he", "acht": "eight", "der": "the", "日": "sun"}
    found = ["▁he", "▁", "d", "er", ",", "▁eight", "▁", "▁sun"]
    assert offered("Er der, Acht 日", piece, piece, dictionary) == found
    assert piece.detokenize(found) == "he der, eight sun"
    assert offered("Er", make_tokenizer("spacy", "de", True), piece, dictionary) == ["▁he"]


def test_the_end_mark_s_attention_is_no_word_s() -> None:
    """Of a source that was cut off, too: its next word was not read."""
    weights = torch.tensor([[0.4, 0.1, 0.5]])  # of a, b and <eos>
    assert copied(["<unk>"], ["a", "b", "c"], [0, 1, 2], weights) == ["a"]


def test_what_is_no_punctuation_belongs_to_its_word() -> None:
    assert words_of(["▁um", "▁10.", "30"]) == [["▁um"], ["▁10.", "30"]]
    assert words_of(["▁5", "€", "!"]) == [["▁5", "€"], ["!"]]


# The file


def test_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    text = "\ufeffHai\tshark\r\n\n  \t \nUhu  eagle-owl \n Sandburg \t sand castle\nguten Tag\thello\nHai\tsharks\n"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_dictionary(path) == {
        "Hai": "shark",  # the first of the two
        "Uhu": "eagle-owl",
        "Sandburg": "sand castle",
        "guten Tag": "hello",
    }


@pytest.mark.parametrize("line", ["Hai", "Hai shark 0.7", "Hai\tshark\t0.7", "Hai\t", "\tshark", "Hai\t\tshark"])
def test_a_line_without_two_columns_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(f"Uhu owl\n\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"words\.txt, line 3: not two columns; write") as caught:
        read_dictionary(path)
    assert "\n" not in str(caught.value)


def test_unreadable_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Hai shark\nBär bear\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"latin\.txt, line 2: not valid UTF-8"):
        read_dictionary(tmp_path / "latin.txt")
