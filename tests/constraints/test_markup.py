"""Tags leave a text and return to its translation: well-formed whatever the links are, and around the aligned words."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.constraints.markup import parse, transfer
from nmt.constraints.mnemonics import insert, strip

WORDS = st.sampled_from(
    ["Datei", "die", "x-y", "(a)", "50%", "é", "ä.", "a&b", "<n>", "1 < 2", '"so"', "व्या", "\u00a0"]
)
TEXTS = st.lists(WORDS, max_size=8).map(" ".join)
LINKS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)
NAMES = st.sampled_from(["b", "i", "a", "p", "x", "g:ref", "notes-ref", "li"])
ATTRIBUTES = st.sampled_from(["", ' id="1"', " href='a&amp;b'", '\n  title="a &gt; b" lang="de"'])
ESCAPED = TEXTS.map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _joined(parts: list[str]) -> str:
    return "".join(parts)


def _element(content: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.builds(lambda name, attributes, text: f"<{name}{attributes}>{text}</{name}>", NAMES, ATTRIBUTES, content)
    return st.lists(st.one_of(pair, st.just("<br/>"), st.just('<x id="2"/>'), ESCAPED), max_size=4).map(_joined)


XML = st.recursive(ESCAPED, _element, max_leaves=12)
MARKS = ("<b>", "</b>", "<i>", "</i>", "<br>", "<p>", "</p>", "<n>", "</n>", "<!-- -->", "<a", "a < b", "&", "&amp;")
SOUP = st.lists(st.sampled_from((*MARKS, "Wort", "&lt;b&gt;", " ", "\n")), max_size=14).map(_joined)


def _tree(element: ElementTree.Element) -> list[object]:
    """What a document is without its text, whatever the order of neighbours is."""
    return [element.tag, sorted(element.attrib.items()), sorted(map(_tree, element), key=repr)]


@settings(max_examples=300, deadline=None)
@given(XML, TEXTS, LINKS)
def test_what_is_xml_stays_xml_with_the_same_tags_nested_alike(source: str, translation: str, links: list) -> None:
    result = transfer(parse(source), translation, links)
    before, after = (ElementTree.fromstring(f"<all xmlns:g='g'>{text}</all>") for text in (source, result))
    assert "".join("".join(after.itertext()).split()) == "".join(translation.split())
    assert _tree(after) == _tree(before)
    alone = [[e.tag for e in document.iter() if e.tag == "br" or e.get("id") == "2"] for document in (before, after)]
    assert alone[1] == alone[0]


@settings(max_examples=300, deadline=None)
@given(SOUP, TEXTS, LINKS)
def test_of_any_text_each_tag_comes_once_and_what_has_no_partner_gets_no_more(
    source: str, translation: str, links: list
) -> None:
    markup = parse(source)
    read = parse(transfer(markup, translation, links))
    assert Counter(tag.text for tag in read.tags) == Counter(tag.text for tag in markup.tags)
    assert "".join(read.text.split()) == "".join(translation.split())
    alone = [sum(element.opening == element.closing for element in m.elements) for m in (markup, read)]
    assert alone[1] <= alone[0]


@given(XML)
def test_the_same_text_with_its_links_gets_the_same_tags(source: str) -> None:
    markup = parse(source)
    links = [(i, i) for i in range(len(markup.text.split()))]
    assert "".join(transfer(markup, markup.text, links).split()) == "".join(source.split())


@pytest.mark.parametrize(
    ("source", "translation", "links", "expected"),
    [
        ("Press <b>Save</b> now.", "Jetzt Speichern drücken.", "0-2 1-1 2-0", "Jetzt <b>Speichern</b> drücken."),
        ("<b>Save</b>:", "Speichern:", "0-0", "<b>Speichern</b>:"),
        ("<b>Datei</b>en (<i>x</i>)", "Dateien (x)", "0-0 1-1", "<b>Datei</b>en (<i>x</i>)"),
        ("<i>PNG</i> files", "PNG-Dateien", "0-0 1-0", "<i>PNG</i>-Dateien"),
        ("<b>One</b> and <i>two</i>", "zwei und eins", "0-2 1-1 2-0", "<i>zwei</i> und <b>eins</b>"),
        ("<b>Name</b><br/>Its text", "Name Ihr Text", "0-0 1-1 2-2", "<b>Name</b><br/>Ihr Text"),
        ("<p>\n  One.\n</p>\n<p>Two.</p>", "Eins. Zwei.", "0-0 1-1", "<p>\n  Eins.\n</p>\n<p>Zwei.</p>"),
        ("See <a href='?a&amp;b'  x=1>here</a>.", "Siehe hier.", "0-0 1-1", "Siehe <a href='?a&amp;b'  x=1>hier</a>."),
        ("<u>a</u> &amp; b&nbsp;&#233;", "b\u00a0é & a", "0-3 1-2 2-0 3-1", "b&nbsp;&#233; &amp; <u>a</u>"),
        ("<i>{a}</i> or <b>{b}</b>", "{b} oder {a}", "0-0 2-0 2-2", "<b>{b}</b> oder <i>{a}</i>"),
        ("<b>x</b> & y > 1", "x & y > 1", "0-0 1-1", "<b>x</b> & y > 1"),
        ("git <file> <b>now</b>", "git <file> jetzt", "0-0 1-1 2-2", "git <file> <b>jetzt</b>"),
        ("<b>x</b>", "a <b>", "0-0", "<b>a &lt;b&gt;</b>"),
        ("<script>a < b</script>Go", "Los", "0-0", "<script>a < b</script>Los"),
    ],
)
def test_tags_are_around_the_aligned_words(source: str, translation: str, links: str, expected: str) -> None:
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    assert transfer(parse(source), translation, pairs) == expected


def test_weights_of_words_do_as_links() -> None:
    weights = np.array([[0.1, 0.1, 0.8], [0.0, 0.9, 0.1], [1.0, 0.0, 0.0]])
    result = transfer(parse("Press <b>Save</b> now"), "Jetzt Speichern drücken", weights)
    assert result == "Jetzt <b>Speichern</b> drücken"


@pytest.mark.parametrize("text", ["a < b", "<%s>", "<Strg>+<C>", "%<auto%>", "<mail@x.org>", "a &b; &", "<a b", "<1>"])
def test_what_is_no_markup_stays_text(text: str) -> None:
    markup = parse(text)
    assert (markup.text, markup.tags) == (text, ())
    assert transfer(markup, text, []) == text


def test_deep_and_long_markup_is_read() -> None:
    deep = "<b>" * 3000 + "Wort" + "</b>" * 3000
    assert transfer(parse(deep), "word", [(0, 0)]) == deep.replace("Wort", "word")
    assert not parse("<a " * 3000).tags


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("_Open File", "Datei öffnen", "Datei _öffnen"),
        ("Save &As...", "Speichern als ...", "Speichern &als ..."),
        ("E~xit", "Beenden", "~Beenden"),
        ("Set file_name", "file_name setzen", "file_name setzen"),
        ("A && B", "A && B", "A && B"),
        ("R&D &Menu", "F&E-Menü", "F&E-Menü"),
    ],
)
def test_mnemonics_return_to_the_aligned_word(text: str, translation: str, expected: str) -> None:
    plain, mnemonic = strip(text)
    assert plain == (text if mnemonic is None else text.replace(mnemonic.marker, ""))
    swapped = {"_Open File": [(0, 1), (1, 0)]}.get(text, [(i, i) for i in range(len(plain.split()))])
    assert (translation if mnemonic is None else insert(translation, mnemonic, swapped)) == expected
