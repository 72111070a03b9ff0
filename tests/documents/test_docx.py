"""Word documents: all members stay byte for byte with an identity model, and another one's documents can be opened."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.documents.document import opened, translate_document
from nmt.system.errors import UserError
from nmt.translator import Translator

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
NS = f'xmlns:w="{W[1:-1]}"'
FIELD = "".join(
    f"<w:r>{part}</w:r>"
    for part in (
        '<w:fldChar w:fldCharType="begin"/>',
        "<w:instrText>PAGE</w:instrText>",
        '<w:fldChar w:fldCharType="separate"/>',
        "<w:t>12</w:t>",
        '<w:fldChar w:fldCharType="end"/>',
    )
)
LINK = '<w:hyperlink w:anchor="a"><w:r><w:rPr><w:u/></w:rPr><w:t>a link</w:t></w:r></w:hyperlink>'
INSIDE = [  # what a paragraph may have
    "<w:r><w:t>Some words</w:t></w:r>",
    '<w:r w:rsidR="1"><w:t xml:space="preserve"> and  more. </w:t></w:r>',
    '<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">bold &amp; </w:t><w:tab/><w:t>text\n</w:t></w:r>',
    "<w:r><w:t/></w:r>",
    "<w:r><w:br/><w:t>line</w:t></w:r>",
    '<w:bookmarkStart w:id="1" w:name="x"/>',
    '<w:proofErr w:type="spellStart"/>',
    "\n  ",
    "<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t>inside</w:t></w:r></w:sdtContent></w:sdt>",
    LINK,
    FIELD,
]


def document(paragraphs: list[str]) -> bytes:
    """The smallest document with these paragraphs, as XML."""
    inside = "".join(f"<w:p><w:pPr/>{paragraph}</w:p>" for paragraph in paragraphs)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {NS}><w:body>{inside}</w:body></w:document>")
        archive.writestr("word/footnotes.xml", f"<w:footnotes {NS}><w:p>{INSIDE[0]}</w:p></w:footnotes>")
        archive.writestr("word/styles.xml", "<not>Some words</not>")
    return file.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@given(st.lists(st.lists(st.sampled_from(INSIDE), max_size=8).map("".join), max_size=3))
def test_members_of_an_identity_model_have_the_same_bytes(identity: Translator, paragraphs: list[str]) -> None:
    content = document(paragraphs)
    assert members(translate_document(identity, content, ".docx")) == members(content)


@given(st.lists(st.sampled_from(INSIDE), min_size=1, max_size=6).map("".join), st.randoms(use_true_random=False))
def test_words_in_another_order_are_in_runs_and_nothing_is_lost(
    identity: Translator, paragraph: str, random: Any
) -> None:
    content = document([paragraph])

    class Shuffling:
        languages = identity.languages

        def translate(self, texts: list[str], *, markup: bool = False, **_: object) -> Any:
            """Texts of which words, and pairs of tags, have another order."""
            translations = identity.translate(texts, markup=markup)
            for translation in translations:
                units = re.findall(r"<t(?:\d+)>.*?</t\d+>|<[^>]*/>|[^\s<]+", translation.text)
                random.shuffle(units)
                vars(translation)["text"] = " ".join(units)
            return translations

    new = translate_document(Shuffling(), content, ".docx")  # type: ignore[arg-type]
    old_root, root = (ElementTree.fromstring(members(some)["word/document.xml"]) for some in (content, new))
    for name in ("tab", "br", "bookmarkStart", "instrText", "fldChar"):
        assert len(root.findall(f".//{W}{name}")) == len(old_root.findall(f".//{W}{name}")), name
    assert {child.tag for child in root.iter() if child.find(f"{W}t") is not None} <= {f"{W}r"}
    letters = [sorted("".join("".join(some.itertext()).split())) for some in (old_root, root)]
    assert letters[0] == letters[1]


def test_bold_words_are_where_the_translation_has_them() -> None:
    class German:
        languages = "en", "de"

        def translate(self, texts: list[str], *, markup: bool = False) -> Any:
            [number] = {re.sub(r"\D", "", tag) for tag in re.findall(r"<t\d+>", texts[0])}
            return [type("", (), {"text": f"<t{number}>Speichern</t{number}> jetzt drücken &amp; warten."})()]

    file = docx.Document()
    paragraph = file.add_paragraph("Now press ")
    paragraph.add_run("Save").bold = True
    paragraph.add_run(" & wait.")
    content = io.BytesIO()
    file.save(content)
    new = docx.Document(io.BytesIO(translate_document(German(), content.getvalue(), ".docx")))  # type: ignore[arg-type]
    runs = [(run.text, run.bold) for run in new.paragraphs[0].runs if run.text]
    assert runs == [("Speichern", True), (" jetzt drücken & warten.", None)]


def test_bombs_and_other_archives_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.docx"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(UserError, match=r"no word/document\.xml"):
        opened(file.read_bytes(), ".docx")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as member:
        for _ in range(65):
            member.write(bytes(1 << 22))
    with pytest.raises(UserError, match="it may be a bomb"):
        opened(file.read_bytes(), ".docx")
    damaged = bytearray(document(["<w:r><w:t>Words</w:t></w:r>"]))
    damaged[200:400] = bytes(200)
    with pytest.raises(UserError, match=r"it is no \.docx"):
        opened(bytes(damaged), ".docx")
