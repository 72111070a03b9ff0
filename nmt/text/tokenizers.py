"""Text to tokens and back: spaCy's rules, sentencepiece, whitespace, characters.

Every tokenizer is a small frozen value, made from what a checkpoint can hold: kind, language, case, model bytes.
Tokens are never empty and hold no whitespace. For a text, `surfaces` gives one string per token of `tokenize`:
the same token in the text's own letters, fit to stand in its place before `detokenize`.
"""

import io
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, Protocol

from nmt.system.errors import UserError

TokenizerKind = Literal["spacy", "sentencepiece", "whitespace", "char"]

SPACE_MARK = "▁"  # U+2581, which sentencepiece writes for a space

# Where spaCy cuts and Moses' rules, made for Moses' own tokens, do not join again.
_CONTRACTION = re.compile(r"n['’]t|['’](s|m|d|re|ve|ll)", re.IGNORECASE)
_HALVES = {("can", "not"), ("gon", "na"), ("got", "ta")}


class Tokenizer(Protocol):
    """What the rest of the program knows of a tokenizer."""

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one sentence."""
        ...

    def surfaces(self, text: str) -> list[str]:
        """For each token of `tokenize(text)` the piece of the raw, not lower-cased text behind it."""
        ...

    def detokenize(self, tokens: list[str]) -> str:
        """The sentence that the tokens spell, spaced as people write."""
        ...


def make_tokenizer(kind: TokenizerKind, language: str, lowercase: bool, model: bytes | None = None) -> "Tokenizer":
    """The tokenizer of that kind; `language` matters to spaCy alone, `model` to sentencepiece alone.

    Raises UserError if spaCy has no rules for the language, ValueError if sentencepiece gets no model.
    """
    match kind:
        case "spacy":
            return SpacyTokenizer(language, lowercase)
        case "sentencepiece":
            if model is None:
                raise ValueError("a sentencepiece tokenizer needs its model's bytes")
            return SentencePieceTokenizer(model, lowercase)
        case "whitespace":
            return WhitespaceTokenizer(lowercase)
        case "char":
            return CharTokenizer(lowercase)


def rules_are_foreign(kind: TokenizerKind, language: str) -> bool:
    """Whether spaCy asks other packages for the tokens, as it does for Chinese, Japanese, Thai, …"""
    return kind == "spacy" and type(_spacy_rules(language)).__module__ != "spacy.tokenizer"


@dataclass(frozen=True)
class SpacyTokenizer:
    """The tokens of spaCy's rules for a language (no model), detokenised by Moses' rules.

    Raises UserError if spaCy has no rules for the language.
    """

    language: str
    lowercase: bool

    def __post_init__(self) -> None:
        _spacy_rules(self.language)  # a wrong language shows here, not in the middle of a corpus

    def tokenize(self, text: str) -> list[str]:
        return _lower_each(self.surfaces(text), self.lowercase)

    def surfaces(self, text: str) -> list[str]:
        return [token.text for token in _spacy_rules(self.language)(_single_spaces(text))]

    def detokenize(self, tokens: list[str]) -> str:
        return _moses(self.language).detokenize(_rejoin(tokens, self.language), unescape=False)


@dataclass(frozen=True)
class SentencePieceTokenizer:
    """Subwords of a sentencepiece model; a word's first piece begins with "▁"."""

    model: bytes
    lowercase: bool

    def tokenize(self, text: str) -> list[str]:
        return _sentencepiece(self.model).encode(_lower(_words_only(text), self.lowercase), out_type=str)

    def types(self) -> list[str]:
        """All subwords that a text can be cut into."""
        model = _sentencepiece(self.model)
        ids = range(model.get_piece_size())
        return [model.id_to_piece(i) for i in ids if not (model.is_control(i) or model.is_unknown(i))]

    def sample(self, texts: list[str], alpha: float, seed: int) -> list[list[str]]:
        """Other subwords of each sentence, drawn at random: the same for the same texts, α and seed.

        A unigram model draws from all segmentations, whose probabilities it takes to the power α (Kudo 2018, section
        3.2); of a BPE model each merge is left out with probability α (Provilkov et al. 2020, section 3).
        """
        from sentencepiece import set_random_generator_seed

        words = [_lower(_words_only(text), self.lowercase) for text in texts]
        encode = partial(_sentencepiece(self.model).encode, words, out_type=str, num_threads=1)
        # sentencepiece's generator is its thread's own, and takes the seed when the thread first draws.
        set_random_generator_seed(seed)
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(encode, enable_sampling=True, alpha=alpha, nbest_size=-1).result()

    def surfaces(self, text: str) -> list[str]:
        """As in `Tokenizer`. Of a character that lies in two tokens ("½" in "1", "⁄2") the last gets it whole."""
        raw = _words_only(text)
        lowered = _lower(raw, self.lowercase)
        pieces = _sentencepiece(self.model).encode(lowered, out_type=str)
        # The pieces, joined, are the normalised text, of which sentencepiece knows the way back to its input.
        _, to_lowered = _sentencepiece(self.model).normalize(lowered, with_offsets=True)
        to_raw = _raw_positions(raw) if self.lowercase else range(len(raw) + 1)
        surfaces, begin = [], 0
        for piece in pieces:
            end = begin + len(piece)
            behind = "".join(raw[to_raw[to_lowered[begin]] : to_raw[to_lowered[end]]].split())
            mark = SPACE_MARK if piece.startswith(SPACE_MARK) else ""
            surfaces.append(mark + behind if behind else piece)
            begin = end
        return surfaces

    def detokenize(self, tokens: list[str]) -> str:
        # Not the model's own decode: it would drop a word that happens to read "</s>".
        return _single_spaces("".join(tokens).replace(SPACE_MARK, " "))


@dataclass(frozen=True)
class WhitespaceTokenizer:
    """What stands between whitespace: for text that is tokenised already."""

    lowercase: bool

    def tokenize(self, text: str) -> list[str]:
        return _lower_each(self.surfaces(text), self.lowercase)

    def surfaces(self, text: str) -> list[str]:
        return text.split()

    def detokenize(self, tokens: list[str]) -> str:
        return " ".join(tokens)


@dataclass(frozen=True)
class CharTokenizer:
    """Characters; a run of whitespace is the one token "▁", and a "▁" of the text itself the token "▁▁"."""

    lowercase: bool

    def tokenize(self, text: str) -> list[str]:
        return _lower_each(self.surfaces(text), self.lowercase)

    def surfaces(self, text: str) -> list[str]:
        shown = {" ": SPACE_MARK, SPACE_MARK: 2 * SPACE_MARK}
        return [shown.get(character, character) for character in _single_spaces(text)]

    def detokenize(self, tokens: list[str]) -> str:
        meant = {SPACE_MARK: " ", 2 * SPACE_MARK: SPACE_MARK}
        return _single_spaces("".join(meant.get(token, token) for token in tokens))


def train_sentencepiece(
    lines: Iterable[str], vocabulary_size: int, model_type: Literal["unigram", "bpe"], lowercase: bool
) -> bytes:
    """A sentencepiece model of `vocabulary_size` pieces, trained on the lines: the same bytes every time.

    Every character of the lines gets a piece. Unicode is normalised by sentencepiece's `nmt_nfkc`.

    Raises UserError if the text is too small or too large for `vocabulary_size`, or has no words.
    """
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=(_lower(_words_only(line), lowercase) for line in lines),
            model_writer=model,
            vocab_size=vocabulary_size,
            model_type=model_type,
            character_coverage=1.0,
            max_sentence_length=1 << 20,  # by default, lines of more than 4192 bytes are left out without a word
            num_threads=1,  # the result depends on it
            minloglevel=2,
        )
    except RuntimeError as error:
        raise UserError(_sentencepiece_complaint(str(error), vocabulary_size)) from None
    return model.getvalue()


def _sentencepiece_complaint(message: str, vocabulary_size: int) -> str:
    field = f"vocabulary_size: {vocabulary_size}"
    if largest := re.search(r"too high.*<= (\d+)", message):
        return f"{field} is too large: this text gives at most {largest[1]} pieces; set it to {largest[1]} or less"
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return f"{field} is too small: this text has too many characters; set it to {smallest[1]} or more"
    if "empty()" in message or "all_chars_count" in message:
        return "sentencepiece found no text to train on: give it sentences with words"
    return f"{field}: sentencepiece cannot train with this size on this text ({' '.join(message.split())})"


def _rejoin(tokens: list[str], language: str) -> list[str]:
    """The tokens with contractions, compounds, curly quotes and #numbers put together again.

    A hyphen between words is taken for a compound's, except in German, whose compounds spaCy leaves whole.
    """
    joints = "/" if language == "de" else "/-"
    openers, closers = ("", "”") if language == "de" else ("“‘#", "”’")
    words: list[str] = []
    glued = False  # whether the last of the words goes on with the next token
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        joint = token in joints and before[-1:].isalnum() and after[:1].isalnum()
        ending = token in closers or _CONTRACTION.fullmatch(token) or (before.lower(), token.lower()) in _HALVES
        if words and (glued or joint or ending):
            words[-1] += token
        else:
            words.append(token)
        glued = joint or token in openers
    return words


def _single_spaces(text: str) -> str:
    return " ".join(text.split())


def _words_only(text: str) -> str:
    """The text as sentencepiece sees it: it takes a "▁" for a space."""
    return _single_spaces(text.replace(SPACE_MARK, " "))


def _lower(text: str, lowercase: bool) -> str:
    return text.lower() if lowercase else text


def _lower_each(tokens: list[str], lowercase: bool) -> list[str]:
    return [token.lower() for token in tokens] if lowercase else tokens


def _raw_positions(text: str) -> list[int]:
    """For each position of `text.lower()`, its end included, the position in `text`: "İ" becomes two characters."""
    positions = [position for position, character in enumerate(text) for _ in character.lower()]
    return [*positions, len(text)]


# What follows costs time to import or to build, and is built once for all tokenizers that share it.


@cache
def _spacy_rules(language: str) -> Any:
    import spacy

    try:
        return spacy.blank(language).tokenizer
    except ImportError:
        raise UserError(
            f"language: spaCy has no tokenizer rules for {language!r} here; "
            "use a code such as de or en, or another kind of tokenizer"
        ) from None


@cache
def _moses(language: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(language)


@cache
def _sentencepiece(model: bytes) -> Any:
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_proto=model)
