"""Formats in which targets are filled: what was there stays, and a second time there is nothing to do."""

from __future__ import annotations

import csv
import difflib
import io
import re
from xml.etree import ElementTree

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.documents.document import translate_document
from nmt.system.errors import UserError
from nmt.translator import Translator

PO = r"""# A comment
msgid ""
msgstr ""
"Language: en\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#: main.c:1
#, c-format
#| msgid "Open"
msgid "Open “%s”\n"
msgstr ""

msgctxt "menu"
msgid ""
"Line \"one\"\n"
"Line\ttwo \\ \303\251"
msgstr ""

msgid "One file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] "some files"

#, fuzzy
msgid "Done"
msgstr "ready"

#~ msgid "old"
#~ msgstr ""
"""
XLIFF_1 = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="de-AT" original="a"><body>
  <trans-unit id="1">
    <source>Some <g id="1">bold</g> text<x id="2"/>, <ph id="3">%s</ph> &amp; more</source>
  </trans-unit>
  <trans-unit id="2"><source>Words</source><target state="new" id="t"/><note>A note</note></trans-unit>
  <trans-unit id="3"><source>Words</source><target>filled</target></trans-unit>
  <trans-unit id="4" translate="no"><source>Words</source></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = """\
<xliff version="2.0" srcLang="de" trgLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">
<unit id="1"><segment><source>Some <pc id="1">bold <mrk id="m" translate="no">ACME</mrk></pc></source></segment>
<segment state="initial"><source>50 %</source><target></target></segment>
<ignorable><source> </source></ignorable></unit></file></xliff>
"""
TMX = """\
<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="de"/><body>
<tu>
  <tuv xml:lang="de-AT"><seg>Some <bpt i="1">&lt;b></bpt>bold<ept i="1">&lt;/b></ept> text</seg></tuv>
</tu>
<tu><tuv xml:lang="de"><seg>Words</seg></tuv><tuv xml:lang="en"><seg/></tuv></tu>
<tu><tuv xml:lang="de"><seg>Words</seg></tuv><tuv xml:lang="en-GB"><seg>filled</seg></tuv></tu>
</body></tmx>
"""
CSV = 'id;de;"note"\r\n1;"One; ""two"""; x\r\n2;Words\r\n\r\n3;12;n\r\n4;;\r\n'
TSV = "de\ten\nSome words\t\nWords\tfilled\n"
FILES = {"po": PO, "1.xlf": XLIFF_1, "2.xlf": XLIFF_2, "tmx": TMX, "csv": CSV, "tsv": TSV}


@pytest.fixture(autouse=True)
def _languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Translator, "languages", ("de", "en"))


@pytest.mark.parametrize("name", FILES)
def test_what_is_there_stays_and_filled_targets_are_left_alone(identity: Translator, name: str) -> None:
    ending = f".{name.split('.')[-1]}"
    once = translate_document(identity, FILES[name].encode(), ending)
    assert translate_document(identity, once, ending) == once
    old, new = (re.findall(r"\w+|\W", text) for text in (FILES[name], once.decode()))
    changes = [
        change for change in difflib.SequenceMatcher(None, old, new, False).get_opcodes() if change[0] != "equal"
    ]
    assert changes
    assert {"".join(old[a:b]) for _, a, b, _, _ in changes} <= {"", '""', "/", "new", "initial"}


def test_po_as_polib_reads_it(identity: Translator) -> None:
    new = polib.pofile(translate_document(identity, PO.encode(), ".po").decode())
    old = polib.pofile(PO)
    assert (new.header, new.metadata) == (old.header, old.metadata)
    assert [entry.msgid for entry in new] == [entry.msgid for entry in old]
    assert [entry.msgstr for entry in new if not entry.obsolete][:2] == [new[0].msgid, 'Line "one"\nLine\ttwo \\ é']
    assert new[2].msgstr_plural == {0: "One file", 1: "some files"}
    assert [entry.flags for entry in new] == [["fuzzy", "c-format"], ["fuzzy"], ["fuzzy"], ["fuzzy"], []]
    assert (new[0].previous_msgid, new[3].msgstr, new[4].msgstr) == ("Open", "ready", "")


def test_xml_as_another_parser_reads_it(identity: Translator) -> None:
    texts = {}
    for name in ("1.xlf", "2.xlf", "tmx"):
        root = ElementTree.fromstring(translate_document(identity, FILES[name].encode(), f".{name.split('.')[-1]}"))
        targets = root.findall(".//{*}target") or root.findall(
            ".//tuv[@{http://www.w3.org/XML/1998/namespace}lang='en']"
        )
        texts[name] = [("".join(target.itertext()), target.get("state")) for target in targets]
    review = "needs-review-translation"
    assert texts["1.xlf"] == [("Some bold text, %s & more", review), ("Words", review), ("filled", None)]
    assert texts["2.xlf"] == [("Some bold ACME", None), ("50 %", None)]
    assert texts["tmx"] == [("Some <b>bold</b> text", None), ("Words", None)]
    new = translate_document(identity, XLIFF_1.encode(), ".xlf").decode()
    assert 'original="a" target-language="en">' in new
    assert '<target state="needs-review-translation" id="t">Words</target><note>' in new
    assert translate_document(identity, XLIFF_2.encode(), ".xlf").decode().count('<segment state="translated">') == 2


CELLS = st.text(st.sampled_from('ab ,"\n.é'), max_size=8)


@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=5), has_target=st.booleans())
def test_csv_as_csv_reads_it(identity: Translator, rows: list[tuple[str, str]], has_target: bool) -> None:
    file = io.StringIO()
    table = [("de", "en")[: 1 + has_target], *(row[: 1 + has_target] for row in rows)]
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table)
    new = translate_document(identity, file.getvalue().encode(), ".csv").decode()
    expected = [(source, target if has_target and target.strip() else source) for source, target in rows]
    expected = [
        (s, t if s.strip() or (has_target and t.strip()) else table[n][1] if has_target else "")
        for n, (s, t) in enumerate(expected, 1)
    ]
    assert list(map(tuple, csv.reader(io.StringIO(new, newline="")))) == [("de", "en"), *expected]


@pytest.mark.parametrize(
    ("ending", "content", "message"),
    [
        (".pdf", b"", "documents that end in .pdf are not supported"),
        (".txt", b"Text\n\xff", "line 2: not valid UTF-8"),
        (".csv", b"fr,it\na,b", "no column is de .there is fr, it."),
        (".csv", b'de\n"a', "line 2: a quote that does not end"),
        (".po", b'msgid "a"\nmsgstr b', "line 2: not a comment"),
        (".po", PO.replace("Language: en", "Language: fr").encode(), "Language is fr"),
        (".xlf", b"<xliff><a></xliff>", "line 1: not well-formed XML .mismatched tag."),
        (".xlf", b"<tmx/>", "its root is <tmx>"),
        (".xlf", XLIFF_2.replace('"de"', '"fr"').encode(), "srcLang is fr"),
        (".tmx", b'<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><tmx>&b;</tmx>', "declares the entity a"),
        (".tmx", b'<!DOCTYPE tmx [<!ENTITY a SYSTEM "/etc/passwd">]><tmx>&a;</tmx>', "declares the entity a"),
        (".tmx", TMX.replace('"de', '"fr').encode(), "no <tuv> is in de"),
        (".tmx", TMX.replace("1.0", '1.0" encoding="latin-1').encode(), "declares the encoding latin-1"),
        (".tmx", b"<a>" * 300 + b"</a>" * 300, "nested more than 200 deep"),
        (".docx", b"PK", "it is no .docx"),
    ],
)
def test_what_cannot_be_read_is_refused(identity: Translator, ending: str, content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        translate_document(identity, content, ending)
