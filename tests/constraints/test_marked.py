"""`translate` with markup and mnemonics is the translation of the plain text, with what was taken out of it."""

from __future__ import annotations

from collections import Counter

import pytest

from nmt.cli import main
from nmt.constraints.markup import parse
from nmt.constraints.translator import ConstrainedTranslator
from nmt.system.errors import UserError

PLAIN = ["Der Hund läuft.", "Eine Katze & ein Hund.\nDer Ball"]
MARKED = ["Der <b>Hund</b> läuft.", "<p>Eine <a href='x&amp;y'>Katze</a> &amp; ein Hund.</p><h2><img/>Der Ball</h2>"]
PREFIX = ("--prefix", "the dog")


@pytest.fixture(scope="module")
def translator(best: str) -> ConstrainedTranslator:
    translator = ConstrainedTranslator.load(best)
    assert isinstance(translator, ConstrainedTranslator)
    return translator


def test_marked_text_is_translated_as_plain_text_is(translator: ConstrainedTranslator) -> None:
    seen: dict[int, str] = {}
    plain = translator.translate(PLAIN, n_best=2, prefix="the dog")
    marked = translator.translate(
        MARKED, n_best=2, prefix="the dog", markup=True, found=lambda i, one: seen.update({i: one.text})
    )
    assert seen == {i: one.text for i, one in enumerate(marked)}
    for source, one, expected in zip(MARKED, marked, plain, strict=True):
        for ranked, other in zip(one.n_best, expected.n_best, strict=True):
            read = parse(ranked.text)
            assert read.text.split() == other.text.split()
            assert Counter(tag.text for tag in read.tags) == Counter(tag.text for tag in parse(source).tags)
        assert (one.text, one.alignment, one.score) == (one.n_best[0].text, expected.alignment, expected.score)
    [without] = translator.translate(MARKED[:1], prefix="the dog", markup=True, attention=False)
    assert (without.text, without.attention) == (marked[0].text, None)
    with pytest.raises(UserError, match="no marker"):
        translator.translate(PLAIN, mnemonics="%")


def test_markup_and_mnemonics_on_the_command_line(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", best, "<u>Der</u> _Hund läuft.", *PREFIX, "--markup", "--mnemonics"]) == 0
    assert main(["translate", best, "Der Hund läuft.", *PREFIX]) == 0
    marked, plain = capsys.readouterr().out.splitlines()
    assert [marked.count(mark) for mark in ("<u>", "</u>", "_")] == [1, 1, 1]
    assert parse(marked).text.replace("_", "") == plain
