"""Glossaries: where terms are, what is written for them by every tokenizer, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.cli import error_of

from nmt.cli import main
from nmt.constraints.forms import forms_of, inside_ids, mark_ids
from nmt.constraints.glossary import Glossary, Term
from nmt.constraints.progress import Rules, State
from nmt.constraints.translator import ConstrainedTranslator
from nmt.system.errors import UserError
from nmt.text.codec import Codec
from nmt.text.tokenizers import TOKENIZERS
from nmt.text.tokenizers.whitespace import WhitespaceTokenizer
from nmt.text.vocabulary import SPECIALS, Vocabulary

TEXT = [
    *(
        "The red bike is old.",
        "Red bikes, a bike: bike-shops!",
        "BIKE",
        "A motorbike and a minibike",
        "bike bike red bike",
    ),
    *(
        "red Bike, bike)",
        "the bike's bell",
        "Bike 3 is the NATO one",
        "no NATO, Nato or natos",
        "Boat iPhone IPhone iphone",
    ),
]
TERMS = ["bike", "red bike", "NATO", "iPhone", "3", "bell"]


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
def test_a_term_is_in_a_translation_as_often_as_it_is_a_word_of_its_text(kind: str) -> None:
    """In its own spelling; at the beginning with a capital, if that is another one, too."""
    tokenizer_class = TOKENIZERS[kind]
    learnt = tokenizer_class.learn(
        TEXT, False, tokenizer_class.Options(**({"vocabulary_size": 60} if tokenizer_class.learns else {}))
    )
    tokenizer = tokenizer_class.make("en", False, learnt)
    tokens = dict.fromkeys(token for line in (*TEXT, *TERMS, "Red Bell IPhone") for token in tokenizer.tokenize(line))
    codec = Codec(tokenizer, Vocabulary((*SPECIALS, *dict.fromkeys([*tokens, *tokenizer.subwords()]))), learnt)
    rules = Rules(inside=inside_ids(codec), marks=mark_ids(codec))
    for line in TEXT:
        words = codec.tokenize(line)
        for text in TERMS:
            forms = forms_of(Term("x", (text,)), codec)
            state = State.first([forms] * 5, rules)
            for token in codec.vocabulary.encode(words):
                state = state.after(token)
            count = len(re.findall(rf"(?<!\w){re.escape(text)}(?!\w)", line))
            count += text[0].islower() and re.match(rf"{text[0].upper()}{re.escape(text[1:])}(?!\w)", line) is not None
            if tokenizer.pieces or kind == "spacy" or not re.search(r"[^\w\s]", line):  # others keep signs on words
                assert 5 - len(state.open) == count, (kind, line, text)


def test_terms_are_whole_words_and_the_longest_ones(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(
        "# Terms\n\nHund\tdog\nhund\thound|hounds\nroter Hund\tred dog\nStraße\tstreet\nUS\tthe US\tcase\n"
        "T-Shirt \t shirt\n",
        encoding="utf-8",
    )
    glossary = Glossary.read(path)
    assert [term.targets for term in glossary.terms] == [
        ("dog", "hound", "hounds"),
        ("red dog",),
        ("street",),
        ("the US",),
        ("shirt",),
    ]
    for text, expected in {
        "Ein HUND, ein Hund.": ["HUND", "Hund"],
        "Hundehütte, Schäferhund, Hund-Katze": [],
        "Ein roter Hund, rote Hund roter": ["roter Hund", "Hund"],
        "STRASSE us US": ["STRASSE", "US"],
        "T-Shirt T-Shirts (t-shirt)": ["T-Shirt", "t-shirt"],
        "": [],
    }.items():
        assert [text[match.begin : match.end] for match in glossary.matches(text)] == expected
    bad = {
        "Hund": "not two columns",
        "Hund\t": "not two columns",
        "\tdog": "not two columns",
        "a\tb|\n": "not two columns",
    }
    for line, message in (bad | {"a\tb\tCase": "third column", "a\tb\tcase\tx": "third column"}).items():
        path.write_text(f"Haus\thouse\n{line}\n", encoding="utf-8")
        with pytest.raises(UserError, match=rf"terms.tsv, line 2: .*{message}"):
            Glossary.read(path)


@pytest.fixture(scope="module")
def translator(best: str) -> ConstrainedTranslator:
    translator = ConstrainedTranslator.load(best)
    assert isinstance(translator, ConstrainedTranslator)
    return translator


def test_translations_have_the_terms_of_their_sources(
    translator: ConstrainedTranslator, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = ["Der Hund läuft.", "Eine Katze schläft. Der Ball und der Hund.", "Die Frau"]
    some = ["away", "cat", "small"]
    terms = {"Hund": some[0], "Ball": [some[1], some[2]], "Katze": "unheardofword"}
    found: dict[int, str] = {}
    for beam_size in (1, 3):
        plain = translator.translate(sources, beam_size=beam_size)
        constrained = translator.translate(
            sources, glossary=terms, beam_size=beam_size, split=True, found=lambda i, t: found.update({i: t.text})
        )
        assert constrained[2].text == plain[2].text
        assert [found[i] for i in range(3)] == [t.text for t in constrained]
        assert some[0] in constrained[0].tokens
        assert some[0] in constrained[1].tokens
        assert {some[1], some[2]} & set(constrained[1].tokens)
        assert (
            "'Katze' → 'unheardofword' cannot be written: the model has no such tokens: Eine Katze"
            in capsys.readouterr().err
        )
    [short] = translator.translate(["Hund Hund Ball"], glossary=terms, max_length=2)
    assert short.tokens == [some[0]] * 2
    assert "Ball" in capsys.readouterr().err
    with pytest.raises(UserError, match="beam search"):
        translator.translate(sources, glossary=terms, sampling={"top_k": 2})


def test_lower_cased_models_write_terms_as_the_glossary_has_them(translator: ConstrainedTranslator) -> None:
    word = "away"
    lower = ConstrainedTranslator(
        translator.model,
        translator.source,
        replace(translator.target, tokenizer=WhitespaceTokenizer(True)),
        translator.search,
    )
    [plain, cased] = (lower.translate(["Der Hund"], glossary={"Hund": text})[0] for text in (word, word.upper()))
    assert word.upper() in cased.text.split()
    assert cased.tokens == plain.tokens


def test_the_command_line_reads_terms_and_names(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms, names = tmp_path / "terms.tsv", tmp_path / "names.txt"
    word = "away"
    terms.write_text(f"Hund\t{word}\n", encoding="utf-8")
    names.write_text(f"{word}\n\n", encoding="utf-8")
    command = ["translate", best, "--glossary", str(terms), "--keep", str(names)]
    for text in ("Der Hund", f"Der {word} und"):
        assert main([*command, text]) == 0
        assert word in capsys.readouterr().out.split()
    lines, out = tmp_path / "lines.txt", tmp_path / "out.txt"
    lines.write_text("Der Hund\n", encoding="utf-8")
    assert main([*command, "--input", str(lines), "--output", str(out)]) == 0
    assert word in out.read_text(encoding="utf-8").split()
    capsys.readouterr()
    for arguments, message in (
        ([*command, "--top-k", "2", "Hund"], "beam search"),
        (["translate", best, "--glossary", str(tmp_path / "none"), "Hund"], "does not exist"),
        (["translate", best, "--glossary", str(names), "Hund"], "line 1: not two columns"),
    ):
        assert main(arguments) == 2
        assert message in error_of(capsys)
