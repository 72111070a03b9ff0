"""One text, one translation: Unicode's forms and invisible characters, wherever text is read."""

import unicodedata
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.checkpoints import Maker
from support.texts import learn

from nmt.text.corpus import ParallelText
from nmt.text.language import likeliest_language
from nmt.text.normalization import normalized

PLAIN = "Ein müder Feuerwehrmann löscht ein Feuer."
FORMS = {
    "NFD": unicodedata.normalize("NFD", PLAIN),
    **{
        f"U+{ord(mark):04X}": PLAIN.replace("wehr", f"{mark}wehr{mark}")
        for mark in "\xad\u200b\u200c\u200d\u2060\ufeff\u200e\u202a\u202c\u061c\x1b\x00\x7f"
    },
    "isolates": f"\u2068{PLAIN}\u2069",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_one_text_are_one(form: str) -> None:
    assert normalized(FORMS[form]) == PLAIN


JOINED = ["می\u200cروم", "PDF\u200cها", "क्\u200dष", "👩\u200d🦰", "❤️\u200d🔥", "ភាសា\u200bខ្មែរ"]


@pytest.mark.parametrize("text", [*JOINED, "m² ½ … ™ ，", "a\tb\u2028c\x85d", "\U000e0067"])
def test_what_is_written_stays(text: str) -> None:
    assert normalized(text) == text


@given(st.text(max_size=12) | st.text("aä\u0308\u200b\u200d\xad\u2069ع👩", max_size=8))
def test_normal_text_stays(text: str) -> None:
    assert normalized(normalized(text)) == normalized(text)
    assert unicodedata.is_normalized("NFC", normalized(text))


@pytest.mark.parametrize("form", ["NFD", "U+00AD", "U+2060", "isolates"])
def test_every_way_into_a_model_reads_one_text(make_translator: Maker, form: str) -> None:
    text = PLAIN.replace("müder", "müder ä ö ü")
    other = FORMS[form] if form != "NFD" else unicodedata.normalize("NFD", text)
    text = text if form == "NFD" else PLAIN
    _, translator = make_translator("data.source.tokenizer=char", "data.target.tokenizer=char")
    # In batches of their own: rows of one batch may differ by rounding.
    [one], [two] = translator.translate([text]), translator.translate([other])
    assert one.source_tokens == two.source_tokens
    assert (one.text, one.score) == (two.text, two.score)
    assert translator.score([text], [text]) == translator.score([other], [other])
    [attention], [again] = (translator.forced_attention([side], [side]) for side in (text, other))
    assert torch.equal(attention, again)
    prefixes = ["a", "\xada"]
    assert len({t.text for t in translator.translate([text, text], prefix=prefixes)}) == 1
    assert likeliest_language(other, ["de", "en"]) == likeliest_language(text, ["de", "en"]) == "de"


def test_the_text_that_is_learnt_from(tmp_path: Path) -> None:
    text = ParallelText([PLAIN, FORMS["NFD"], FORMS["U+00AD"]], [FORMS["isolates"], PLAIN, FORMS["U+200B"]])
    for tokenizer, size in (("spacy", None), ("char", None), ("sentencepiece", 30)):
        pairs = learn(tmp_path, text, tokenizer, size, lowercase=False)
        for codec in (pairs.source, pairs.target):
            assert all(codec.decode(codec.encode(line)) == PLAIN for line in FORMS.values())
            assert all(token.isprintable() for token in codec.vocabulary.tokens)


def test_a_model_of_text_that_was_not_normalised_reads_it_as_it_is(make_translator: Maker) -> None:
    _, translator = make_translator("data.normalize=false", "data.source.tokenizer=char")
    assert translator.source.tokenize("a\xadb") == ["a", "\xad", "b"]
