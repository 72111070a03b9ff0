"""Alignments of words: from the weights of tokens, by hand, and on models that have learnt a known alignment."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.texts import SAMPLE
from support.tiny_config import WORDS

from nmt.config.run import Config
from nmt.decoding.word_alignment import best_links, token_shares
from nmt.evaluation import alignment
from nmt.evaluation.alignment import Links, WordPairs, score_alignment
from nmt.evaluation.scores import spacy_tokens
from nmt.text.corpus import ParallelText
from nmt.text.tokenizers import Tokenizer
from nmt.text.tokenizers.char import CharTokenizer
from nmt.text.tokenizers.sentencepiece import SentencePieceTokenizer, train_sentencepiece
from nmt.text.tokenizers.spacy import SpacyTokenizer
from nmt.text.tokenizers.whitespace import WhitespaceTokenizer
from nmt.training.interruption import StopSignals
from nmt.training.run import run
from nmt.translator import Translator

SPACY, WHITESPACE, CHARACTERS = SpacyTokenizer("de", True), WhitespaceTokenizer(True), CharTokenizer(True)


@pytest.mark.parametrize(
    ("surfaces", "words", "shares"),
    [
        (SPACY.surfaces("Süße Hunde, z. B. Dackel!"), ["Süße", "Hunde", ",", "z.", "B.", "Dackel", "!"], np.eye(7)),
        (WHITESPACE.surfaces("Ja, gut."), ["Ja", ",", "gut", "."], [[2 / 3, 0], [1 / 3, 0], [0, 3 / 4], [0, 1 / 4]]),
        (  # J a , ▁ d u
            CHARACTERS.surfaces("Ja, du"),
            ["Ja", ",", "du"],
            [[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]],
        ),
        (
            ["▁Hü", "nd", "chen", "▁", "½t,", "▁▁"],
            ["Hündchen", "½t", ",", "▁"],
            [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 2 / 3, 0], [0, 0, 0, 0, 1 / 3, 1], [0] * 6],
        ),
        (  # "½" became "1⁄2", "ﬁ" became "fi", and a zero-width space was dropped.
            ["▁1", "⁄2", "▁fi", "x", "▁zu", "er", "st"],
            ["½", "ﬁx", "zu\u200berst", "\u200b"],
            [[1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1], [0] * 7],
        ),
        ([], ["a"], [[]]),
        (["▁▁"], ["▁"], [[0]]),
        (["▁"], [], np.zeros((0, 1))),
    ],
)
def test_shares_of_tokens_in_words(surfaces: list[str], words: list[str], shares: list[list[float]]) -> None:
    np.testing.assert_allclose(token_shares(surfaces, words), shares)


def test_words_from_subword_weights_by_hand() -> None:
    # Source "Hünd chen ," is two words, target "a pup py." three, of which the last shares its token.
    attention = np.array(
        [
            [0.1, 0.2, 0.3, 0.4],  # a
            [0.5, 0.3, 0.1, 0.1],  # pup
            [0.2, 0.2, 0.6, 0.0],  # py.
            [0.0, 0.0, 0.0, 1.0],  # <eos>
        ]
    )
    source = token_shares(["▁Hünd", "chen", ","], ["Hündchen", ","])
    target = token_shares(["▁a", "▁pup", "py."], ["a", "puppy", "."])
    third = 2 / 3
    puppy = [(0.8 + third * 0.4) / (1 + third), (0.1 + third * 0.6) / (1 + third)]
    weights = alignment.word_attention(attention[:-1], source, target)
    np.testing.assert_allclose(weights, [[0.3, 0.3], puppy, [0.4, 0.6]])
    assert best_links(weights) == {(0, 0), (0, 1), (1, 2)}  # the first of equals
    # Nothing is linked where there is no weight.
    assert best_links(np.array([[0.0, 0.0], [0.0, 0.1]])) == {(1, 1)}
    assert best_links(np.zeros((0, 3))) == best_links(np.zeros((3, 0))) == frozenset()


LETTERS = "abcÄöüßẞıİ½⅓…ﬁ①.,-'’ \t\u00a0\u2028\u00ad\u200bé" + "e\u0301" + "漢▁"
LINES = (SAMPLE / "validation.de").read_text(encoding="utf-8").splitlines()[:100]
MODEL = train_sentencepiece([*LINES, LETTERS, LETTERS], 150, "unigram", lowercase=False)
TOKENIZERS: list[Tokenizer] = [
    SpacyTokenizer("de", lowercase=True),
    WhitespaceTokenizer(lowercase=False),
    CharTokenizer(lowercase=True),
    SentencePieceTokenizer(MODEL, lowercase=True),
    SentencePieceTokenizer(MODEL, lowercase=False),
]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda tokenizer: type(tokenizer).__name__)
@settings(deadline=None)
@given(st.text(LETTERS, max_size=30), st.booleans(), st.integers(0, 2**32 - 1))
def test_weight_is_conserved(tokenizer: Tokenizer, text: str, by_spacy: bool, seed: int) -> None:
    words = spacy_tokens([text], "de")[0] if by_spacy else text.split()
    assume("".join(words).replace("▁", ""))
    surfaces = tokenizer.surfaces(text)
    assert len(surfaces) == len(tokenizer.tokenize(text))
    shares = token_shares(surfaces, words)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=0), 1)
    attention = np.random.default_rng(seed).random((4, len(surfaces) + 1))
    by_word = alignment.word_attention(attention[:-1], shares, np.eye(3))
    np.testing.assert_allclose(by_word.sum(axis=1) + attention[:3, -1], attention[:3].sum(axis=1))
    assert (by_word >= 0).all()


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_a_trained_model_looks_at_the_word_that_it_translates(
    make_config: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wiring: str
) -> None:
    draw = random.Random(8)
    sources = [draw.sample(list(WORDS), k=draw.randint(3, 7)) for _ in range(400)]
    targets = [[WORDS[word] for word in reversed(source)] for source in sources]
    for ending, sentences in (("src", sources), ("tgt", targets)):
        (tmp_path / f"more.{ending}").write_text("\n".join(map(" ".join, sentences)) + "\n", encoding="utf-8")
    fields = [f"data.source.train={tmp_path / 'more.src'}", f"data.target.train={tmp_path / 'more.tgt'}"]
    fields += ["model.embedding_size=16", "model.encoder.hidden_size=16", "model.decoder.hidden_size=32"]
    fields += ["training.max_updates=200", "training.batch_size=20", "training.validate_every=200"]
    fields += [f"model.{part}.dropout=0.0" for part in ("encoder", "decoder")]
    config = make_config(f"model.attention.wiring={wiring}", *fields)
    translator = Translator.load(run(config, StopSignals(), resume=False) / "last.safetensors", device="cpu")

    words = WordPairs(sources[:100], targets[:100])
    text = ParallelText(list(map(" ".join, words.source)), list(map(" ".join, words.target)))
    links = [frozenset((s, len(source) - 1 - s) for s in range(len(source))) for source in words.source]
    attention, rates = translator.forced_attention(text.source, text.target), []
    for shift in (0, -1, 1):
        shifted = iter([matrix.roll(shift, 0) for matrix in attention])
        monkeypatch.setattr(translator, "forced_attention", lambda sources, _, s=shifted: [next(s) for _ in sources])
        answers = [best_links(weights) for weights in alignment.attend_words(translator, text, words)]
        rates.append(score_alignment(answers, list(map(Links, links, links)), samples=1).error_rate)
    assert rates[0] < 0.1
    assert min(rates[1:]) > 0.7
