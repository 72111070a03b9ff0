import io
import pickle
from dataclasses import FrozenInstanceError
from typing import Any, Literal

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from nmt.system.errors import UserError
from nmt.text.tokenizers import TOKENIZERS, Tokenizer
from nmt.text.tokenizers.char import CharTokenizer
from nmt.text.tokenizers.sentencepiece import SentencePieceOptions, SentencePieceTokenizer, train_sentencepiece
from nmt.text.tokenizers.spacy import SpacyTokenizer
from nmt.text.tokenizers.whitespace import WhitespaceTokenizer

GERMAN = [
    "Zwei junge Mädchen in gelben T-Shirts bauen am Strand eine Sandburg.",
    'Ein alter Mann hält ein Schild mit der Aufschrift "Frei Haus" hoch.',
    "Drei Kinder (etwa 5 Jahre alt) rennen durch den Ein- und Ausgang eines Zoos.",
    "„Gleich geht's los“, ruft der Trainer – und seine Mannschaft jubelt.",
    "Ein 12-jähriger Junge springt mit Fahrrad und/oder Skateboard über 3,5 m Straße.",
    "Ist das etwa ein rot-weiß gestreifter Ball? Ja, genau!",
    "McDonald’s schließt um 22:30 Uhr, d.h. in z.B. 1. Lage später; das war's.",
]
ENGLISH = [
    "Two dark-haired girls in yellow t-shirts are building a sandcastle on the beach.",
    "A middle-aged man doesn't see the dog's ball, but he'll find it; they've lost theirs.",
    "The women can't dance, won't sing and don't care, I'm told.",
    "They’re sure it isn’t hers: she’d say “never mind” and leave.",
    'An old man holds up a "free lunch" sign near the boys\' school.',
    "A 12-year-old boy (in a black-and-white jersey, #7) jumps over 50% of the state-of-the-art ramp!",
    "Is this a one-way street? You cannot park here, you're gonna pay $20.",
    "A guy's father-in-law reads AT&T's and/or U.S. news at 5 o'clock...",
]
SPECIAL = ["<pad>", "</s>", "<s> <unk>", "<unk>", "▁", "a ▁▁ b▁", "⁇", "\\n", "&amp;", "@-@", "\ufeff", "0"]

lines = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" ▁\t\u0085\u2028İßΣ<>s/ﬁ½"), max_size=30)


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request: pytest.FixtureRequest) -> bytes:
    return train_sentencepiece(GERMAN + ENGLISH, 150, request.param, lowercase=False)


@pytest.fixture(scope="session")
def lower_model() -> bytes:
    return train_sentencepiece(GERMAN, 90, "bpe", lowercase=True)


def every_kind(model: bytes, lowercase: bool) -> list[Tokenizer]:
    kinds = [("spacy", "de"), ("spacy", "en"), ("sentencepiece", "de"), ("whitespace", "de"), ("char", "de")]
    return [TOKENIZERS[kind].make(language, lowercase, model) for kind, language in kinds]


def single_spaces(text: str) -> str:
    return " ".join(text.split())


# All kinds


@pytest.mark.parametrize("lowercase", [False, True])
@given(text=lines | st.sampled_from(SPECIAL))
@settings(max_examples=150, deadline=None)
def test_tokens_and_surfaces_of_any_text(lower_model: bytes, lowercase: bool, text: str) -> None:
    for tokenizer in every_kind(lower_model, lowercase):
        tokens, surfaces = tokenizer.tokenize(text), tokenizer.surfaces(text)
        assert len(surfaces) == len(tokens)
        assert all(tokens + surfaces)
        assert not any(character.isspace() for token in tokens + surfaces for character in token)
        if not text.split():
            assert tokens == []


def test_tokenizers_are_frozen_values(lower_model: bytes) -> None:
    for tokenizer, twin in zip(every_kind(lower_model, True), every_kind(lower_model, True), strict=True):
        tokens = tokenizer.tokenize(GERMAN[0])
        assert tokenizer == twin
        assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer  # used before, and still plain
        assert twin.tokenize(GERMAN[0]) == tokens
        with pytest.raises(FrozenInstanceError):
            tokenizer.lowercase = False  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="model"):
        TOKENIZERS["sentencepiece"].make("en", True, None)


# spaCy


@pytest.mark.parametrize(("language", "sentences"), [("de", GERMAN), ("en", ENGLISH)])
def test_spacy_tokens_are_spacys_own_and_come_back(language: str, sentences: list[str]) -> None:
    rules = spacy.blank(language).tokenizer
    raw, lowered = (SpacyTokenizer(language, lowercase) for lowercase in (False, True))
    for sentence in [*sentences, "  two  spaces\there ", *SPECIAL]:
        expected = [token.text for token in rules(sentence) if not token.is_space]
        assert raw.words(sentence) == expected
        assert raw.detokenize(raw.tokenize(sentence)) == single_spaces(sentence)
        assert lowered.detokenize(lowered.tokenize(sentence)) == single_spaces(sentence).lower()
    for sentence in sentences:  # Moses' rules space them, so there is no mark
        assert raw.tokenize(sentence) == lowered.surfaces(sentence) == raw.words(sentence)
        assert lowered.tokenize(sentence) == [token.lower() for token in raw.words(sentence)]


WRITTEN = {
    "en": ["“I shall be late!” said the rabbit.", "She wrote _very_ good C# code.", "can not cannot @-@ a @-@ b ￭ ▁"],
    "de": ["»Komm«, rief sie, »schnell!«"],
    "fr": ["Où va-t-elle ? L’eau est-elle froide ?", "Qu'est-ce que c'est ? Vas-y !"],
    "it": ["C’è un po’ d’acqua."],
    "ca": ["L’home se’n va a l'hort."],
    "es": ["«Ven», dijo. ¿Qué? ¡No!"],
    "sv": ["Han sa: ”Kom.”"],
    "cs": ["„Proč?“ řekl. Bude-li e' – li, e' - mail 3,5 a 3, 5."],
    "fi": ["EU:n EU: n"],
    "hi": ["वह घर जाता है।"],
    "bn": ["সে বাড়ি যায়।"],
    "zh": ["他来了，你呢？", "他 来 了 abc def。"],
    "xx": ["a (b) ,c . d"],
}
AROUND = st.text("ab Ä1.,:;!?'\"’“”„«»()-–…_#$%@￭▁।，一はnotcan", max_size=20)


@pytest.mark.parametrize("language", WRITTEN)
@given(text=lines | AROUND)
@settings(max_examples=60, deadline=None)
def test_spacy_tokens_of_any_text_come_back(language: str, text: str) -> None:
    for lowercase in (False, True):
        tokenizer = SpacyTokenizer(language, lowercase)
        for line in (text, *WRITTEN[language]):
            tokens = tokenizer.tokenize(line)
            expected = "".join(character.lower() if lowercase else character for character in single_spaces(line))
            assert tokenizer.detokenize(tokens).replace("ς", "σ") == expected.replace("ς", "σ")
            assert lowercase or tokenizer.surfaces(line) == tokens


def test_spaces_that_a_model_marks_anywhere() -> None:
    tokenizer = SpacyTokenizer("en", True)
    assert tokenizer.detokenize(["￭", "a", "￭", "b", "▁", ",", "￭"]) == "ab ,"
    assert SpacyTokenizer("cs", True).detokenize(["a", "e'", "-", "li", "b"]) == "a e' - li b"  # sacremoses would fail
    assert tokenizer.detokenize(["￭"]) == tokenizer.detokenize([]) == ""


@pytest.mark.parametrize(
    ("language", "tokens", "sentence"),
    [
        ("en", "a t - shirt , is n't it ?", "a t-shirt, isn't it?"),
        ("en", "he ca n’t see the dog ’s “ bed ” .", "he can’t see the dog’s “bed”."),
        ("en", "- a man - made lake -", "- a man-made lake -"),
        ("en", "a b - , c", "a b -, c"),
        ("en", "&amp; &lt; 5", "&amp; &lt; 5"),  # a user's text, no escapes of Moses
        ("de", "eins - zwei - drei", "eins - zwei - drei"),
        ("de", "„ ja “ , sagt er .", "„ja“, sagt er."),
    ],
)
def test_spacy_detokenization(language: str, tokens: str, sentence: str) -> None:
    assert SpacyTokenizer(language, True).detokenize(tokens.split()) == sentence


# Whitespace and characters


@given(text=lines)
def test_whitespace_and_characters_come_back(text: str) -> None:
    for tokenizer in (WhitespaceTokenizer(False), CharTokenizer(False)):
        assert tokenizer.detokenize(tokenizer.tokenize(text)) == single_spaces(text)
    assert len(CharTokenizer(False).tokenize(text)) == len(single_spaces(text))
    assert CharTokenizer(True).tokenize(" Ab  ▁İ") == ["a", "b", "▁", "▁▁", "i̇"]


# sentencepiece


@given(text=st.text("abc Äß.-日本👩🏽", max_size=20))
@settings(deadline=None)
def test_sentencepiece_round_trip_of_any_text(lower_model: bytes, text: str) -> None:
    tokenizer = SentencePieceTokenizer(lower_model, True)
    assert tokenizer.detokenize(tokenizer.tokenize(text)) == single_spaces(text).lower()
    assert tokenizer.detokenize(tokenizer.surfaces(text)) == single_spaces(text)


@pytest.fixture(scope="session")
def old_model() -> bytes:
    """As nmt 0.3 made them: sentencepiece has a table of characters that it replaces."""
    model = io.BytesIO()
    kind: dict[str, Any] = {"model_type": "bpe", "vocab_size": 90, "character_coverage": 1.0, "minloglevel": 2}
    SentencePieceTrainer.train(sentence_iterator=map(str.lower, GERMAN), model_writer=model, **kind)
    return model.getvalue()


def test_sentencepiece_surfaces(lower_model: bytes, old_model: bytes) -> None:
    def behind(text: str, model: bytes = lower_model) -> list[tuple[str, str]]:
        tokenizer = SentencePieceTokenizer(model, True)
        return list(zip(tokenizer.tokenize(text), tokenizer.surfaces(text), strict=True))

    assert behind("Ein 日本 EIN") == [("▁ein", "▁Ein"), ("▁", "▁"), ("日本", "日本"), ("▁ein", "▁EIN")]
    # "İ" becomes two characters in lower case, and "½" three in an old model: then they are the tokens.
    for text, model in (("İ  EIN", lower_model), ("½ EIN", old_model)):
        assert all(token == surface for token, surface in behind(text, model))
    assert behind("½ EIN", lower_model)[-1] == ("▁ein", "▁EIN")


@pytest.mark.parametrize("kind", ["sentencepiece", "sentencepiece_cased"])
def test_sentencepiece_can_write_every_character_of_its_text(kind: str) -> None:
    lines = [*GERMAN, "40 m² und 10⁵ Liter … (½ voll)™", "我买了书，你呢？", "Ⅳ ﬁ ｶﾞ ①"]
    model = TOKENIZERS[kind].learn(lines, False, SentencePieceOptions(vocabulary_size=300))
    tokenizer = TOKENIZERS[kind].make("de", False, model)
    for line in lines:
        tokens = tokenizer.tokenize(line)
        assert tokenizer.detokenize(tokens) == line
        assert set(tokens) <= set(tokenizer.subwords())


def test_sentencepiece_round_trip_without_control_symbols(model: bytes) -> None:
    processor = SentencePieceProcessor(model_proto=model)
    control = {piece for i in range(len(processor)) if processor.is_control(i) for piece in [processor.id_to_piece(i)]}
    assert control == {"<s>", "</s>"}
    tokenizer = SentencePieceTokenizer(model, False)
    text = "<s> ein </s> Mann<s> <unk> <pad>"
    ids = [processor.piece_to_id(token) for token in tokenizer.tokenize(text)]
    assert not any(processor.is_control(i) for i in ids)
    assert tokenizer.detokenize(tokenizer.tokenize(text)) == text
    assert tokenizer.detokenize(["▁ein", "</s>"]) == "ein</s>"  # a copied word is never swallowed


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_sentencepiece_vocabulary_has_a_smallest_and_a_largest_size(
    model_type: Literal["unigram", "bpe"], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=r"vocabulary_size: 5 is too small") as raised:
        train_sentencepiece(GERMAN, 5, model_type, lowercase=True)
    limit = int(next(word for word in reversed(str(raised.value).split()) if word.isdigit()))
    train_sentencepiece(GERMAN, limit, model_type, lowercase=True)
    with pytest.raises(UserError, match="too small"):
        train_sentencepiece(GERMAN, limit - 1, model_type, lowercase=True)
    largest = train_sentencepiece(GERMAN, 30_000, model_type, lowercase=True)
    size = SentencePieceProcessor(model_proto=largest).get_piece_size()
    assert size < 30_000
    assert train_sentencepiece(GERMAN, size, model_type, lowercase=True) == largest  # and it is deterministic
    for lines in ([], [""], [" \u2028", "▁"]):
        with pytest.raises(UserError, match="found no words in the training text"):
            train_sentencepiece(lines, 100, model_type, lowercase=True)
    assert capfd.readouterr() == ("", "")


# The size of the trie, an offset far behind its end, and a leaf whose text lies behind the end
@pytest.mark.parametrize(
    ("offset", "content"), [(0, b"\xff" * 3 + b"\x7f"), (4, b"\xff" * 3 + b"\x7f"), (8, b"\xff" * 4)]
)
def test_sentencepiece_follows_no_damaged_table(old_model: bytes, offset: int, content: bytes) -> None:
    """Its table for normalising text is a trie of offsets. Following one out of the table would end the process."""
    begin = old_model.index(b"nmt_nfkc") + 9  # behind the name and the next field's tag comes the table's length
    while old_model[begin] & 128:
        begin += 1
    place = begin + 1 + offset
    with pytest.raises(RuntimeError, match="INTERNAL"):
        SentencePieceTokenizer(old_model[:place] + content + old_model[place + len(content) :], False).tokenize("ein")
