"""Case as marks between lower-cased subwords: what is written again is what was read, whatever it was."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import MORE, everything, learn

from nmt.config.data import DataConfig
from nmt.text.corpus import ParallelText
from nmt.text.tokenizers import TOKENIZERS
from nmt.text.tokenizers.case import CAPITALS, MARKS, SMALL, TITLE, marked, unmarked
from nmt.text.tokenizers.sentencepiece import SentencePieceTokenizer
from nmt.text.tokenizers.sentencepiece_cased import CasedSentencePieceTokenizer
from nmt.text.unknown_words import replacements

LINES = [
    "Ein Hund läuft über die Wiese.",
    "A man in a T-Shirt waves the US flag.",
    "Zwei Männer, zwei Hunde: „Los!“",
    "AÄÖÜ",
]


def tokenizer_of(lines: list[str], size: int = 120, model: str = "unigram") -> CasedSentencePieceTokenizer:
    options = CasedSentencePieceTokenizer.Options(vocabulary_size=size, subword_model=model)
    learnt = CasedSentencePieceTokenizer.learn(lines, False, options)
    assert learnt is not None
    return CasedSentencePieceTokenizer(learnt, False)


@pytest.fixture(scope="session")
def tokenizer() -> CasedSentencePieceTokenizer:
    return tokenizer_of(LINES)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("hund", [("", "hund")]),
        ("Hund", [(TITLE, "hund")]),
        ("„Hund", [(TITLE, "„hund")]),
        ("GROß", [(CAPITALS, "groß")]),
        ("USA-Reise", [(CAPITALS, "usa-"), (TITLE, "reise")]),
        ("McDonald", [(TITLE, "mc"), (TITLE, "donald")]),
        ("PCs", [(CAPITALS, "pc"), (SMALL, "s")]),
        ("İ1ẞ", [("", "İ1ẞ")]),
    ],
)
def test_marks_of_words(word: str, parts: list[tuple[str, str]]) -> None:
    assert marked(word) == parts
    (mark, text), *others = parts
    tokens = [token for part in ((mark, f"▁{text}"), *others) for token in part if token]
    assert unmarked([CAPITALS, "▁vor", *tokens, "▁nach"]) == f"▁VOR▁{word}▁nach"


def test_the_marks_of_a_word_end_with_it() -> None:
    assert unmarked([CAPITALS, "▁us", "a", "▁ein", TITLE, "▁", "„", "h", "und", "▁x"]) == "▁USA▁ein▁„Hund▁x"
    assert unmarked([TITLE, "▁12", "▁ein", SMALL, CAPITALS]) == "▁12▁ein"


@given(text=st.one_of(st.text(max_size=30), st.text("aAbBßẞıİǅſÄä-'▁⇧⇪⇩ \u0307\u030cJǰ", max_size=20)))
def test_any_text_comes_back(tokenizer: CasedSentencePieceTokenizer, text: str) -> None:
    plain = SentencePieceTokenizer(tokenizer.model, False)
    expected = plain.detokenize(plain.tokenize(text))
    tokens, surfaces = tokenizer.tokenize(text), tokenizer.surfaces(text)
    assert tokenizer.detokenize(tokens) == expected
    assert len(surfaces) == len(tokens)
    assert all(tokens)
    assert all(surfaces)
    assert not any(character.isspace() for token in (*tokens, *surfaces) for character in token)


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_words_share_their_subwords_whatever_their_case(model: str) -> None:
    tokenizer = tokenizer_of(LINES, 70, model)
    for line in LINES:
        pieces = [token for token in tokenizer.tokenize(line.title()) if token not in MARKS]
        assert pieces == [token for token in tokenizer.tokenize(line.title().lower()) if token not in MARKS]
        assert set(tokenizer.tokenize(line)) <= set(tokenizer.subwords())
    assert tokenizer.tokenize("Hund") == [TITLE, *tokenizer.tokenize("hund")]


def test_words_are_offered_in_their_own_case(tokenizer: CasedSentencePieceTokenizer) -> None:
    surfaces, words_alone = tokenizer.surfaces("Ein T-Shirt"), TOKENIZERS["whitespace"].make("en", False, None)
    words, owners = replacements(surfaces, tokenizer, words_alone)
    assert words == ["Ein", "T-Shirt"]
    assert owners[:2] == [0, 0]  # a mark belongs to the word behind it
    assert len(owners) == len(tokenizer.tokenize("Ein T-Shirt"))


def test_pairs_of_cased_text(tmp_path: Path) -> None:
    text = ParallelText([line.title() for line in MORE], [line.upper() for line in MORE])
    pairs = learn(tmp_path, text, "sentencepiece_cased", 30, joint=True, lowercase=False)
    examples = everything(pairs)
    assert [pairs.source.decode(example.source) for example in examples] == text.source
    assert [pairs.target.decode(example.target) for example in examples] == text.target
    assert CAPITALS in pairs.target.vocabulary.decode(examples[0].target)
    with pytest.raises(ValueError, match="set lowercase to false, or tokenizer to sentencepiece"):
        DataConfig.model_validate({"source": {"tokenizer": "sentencepiece_cased"}})
