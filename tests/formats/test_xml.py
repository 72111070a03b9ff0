"""TMX and XLIFF: inline elements, variants of languages, and XML that attacks its reader."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from nmt.system.errors import UserError
from nmt.text.corpus import read_lines, read_pairs
from tests.formats.conftest import LANG

XML_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"], include_characters="\n\t"), max_size=20)


@given(units=st.lists(st.tuples(XML_TEXTS, XML_TEXTS, st.sampled_from(["de", "de-AT", "fr"])), min_size=1))
def test_what_lxml_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, units: list[tuple[str, str, str]]
) -> None:
    body = etree.Element("body")
    for en, other, code in [*units, ("end", "Ende", "de")]:
        unit = etree.SubElement(body, "tu")
        for language, text in (("en-GB", en), (code, other)):
            etree.SubElement(etree.SubElement(unit, "tuv", {LANG: language}), "seg").text = text
    path = tmp_path_factory.mktemp("tmx") / "t.tmx"
    tmx = etree.Element("tmx")
    tmx.append(body)
    etree.ElementTree(tmx).write(path, encoding="utf-8")
    pairs = read_pairs(path, path, ("en", "de"))
    texts = [(en, other if code == "de" else "") for en, other, code in units]
    encoded = [tuple(text.replace("\n", "␤") for text in pair) for pair in texts]
    assert [*zip(pairs.source, pairs.target, strict=True)] == [*encoded, ("end", "Ende")]


@pytest.mark.parametrize(
    ("name", "unit", "text"),
    [
        ("t.tmx", '<tu><tuv xml:lang="de"><seg>%s</seg></tuv></tu>', "<b>fett</b> 5 %s!"),
        ("t.xlf", "<trans-unit><target>%s</target></trans-unit>", "<b>fett</b> 5 %s!"),
    ],
)
def test_native_code_is_text(tmp_path: Path, name: str, unit: str, text: str) -> None:
    inline = '<bpt i="1">&lt;b&gt;</bpt><hi>fe<!-- x -->tt</hi><ept i="1">&lt;/b&gt;</ept> <g id="2">5</g> <ph>%s</ph>!'
    (tmp_path / name).write_text(f'<x><file target-language="de">{unit.replace("%s", inline)}</file></x>', "utf-8")
    assert read_lines(tmp_path / f"{name}#de") == [text]


def test_codes_of_xliff(tmp_path: Path) -> None:
    data = '<data id="a">&lt;b&gt;</data><data id="b">&lt;/b&gt;</data><data id="c">%d</data>'
    text = '<pc dataRefStart="a" dataRefEnd="b">x</pc> <ph dataRef="c"/><ph equiv="%s"/><mrk>y</mrk><cp hex="0007"/>'
    (tmp_path / "t.xlf").write_text(
        f'<xliff srcLang="en"><file><unit><originalData>{data}</originalData><segment><source>{text}</source></segment>'
        "<ignorable><source>no</source></ignorable></unit></file></xliff>",
        "utf-8",
    )
    assert read_lines(tmp_path / "t.xlf#en") == ["<b>x</b> %d%sy\x07"]
    (tmp_path / "old.xlf").write_text(
        '<xliff><file source-language="en-US" target-language="de"><trans-unit><source>a<x id="1" equiv-text="{0}"/>'
        '</source><target state="new">a</target></trans-unit></file></xliff>',
        "utf-8",
    )
    assert read_lines(tmp_path / "old.xlf#en") == ["a{0}"]
    assert read_lines(tmp_path / "old.xlf#target") == [""]


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
UNIT = '<tu><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
LAUGHS = f'<!DOCTYPE tmx [<!ENTITY l0 "lol">{LAUGHS}]><tmx>{UNIT.format("&l9;")}</tmx>'


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (LAUGHS, "line 1: it declares or uses the entity l0"),
        (f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]><tmx>{UNIT.format("&x;")}</tmx>', "the entity x"),
        (f'<!DOCTYPE tmx SYSTEM "http://0.0.0.0/x.dtd"><tmx>{UNIT.format("&auml;")}</tmx>', "the entity auml"),
        (f"<tmx>\n{UNIT.format('&auml;')}</tmx>", r"line 2: not well-formed XML \(undefined entity\)"),
        (f"<tmx>{UNIT.format('<g>' * 10**5)}", "a unit of more than 100 levels"),
        (f"<tmx>\n\n{UNIT.format('<g>')}</tmx>", r"line 3: not well-formed XML \(mismatched tag\)"),
        (f"<tmx>{UNIT.format('a' * (5 << 20))}</tmx>", "a unit or tag of more than 4,194,304 bytes"),
        (f"<tmx>{UNIT.format('<g/>' * 20_000)}</tmx>", "or 10,000 elements"),
        ("<tmx></tmx>", "has no units"),
        ("<?xml version='1.0' encoding='utf-7'?><tmx/>", "line 1: multi-byte encodings are not supported"),
        (UNIT.format("ä").encode("latin-1"), r"line 1: not well-formed XML \(not well-formed \(invalid token\)\)"),
    ],
)
def test_hostile_xml_is_refused_in_one_line(tmp_path: Path, content: str | bytes, complaint: str) -> None:
    (tmp_path / "t.tmx").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=rf"t\.tmx.*{complaint}") as raised:
        read_lines(tmp_path / "t.tmx#de")
    assert "\n" not in str(raised.value)


def test_memory_is_bounded(tmp_path: Path) -> None:
    """120 MB of units are read, and an attribute of 64 MB is refused, with 60 MB more of address space."""
    with gzip.open(tmp_path / "attribute.tmx.gz", "wb", compresslevel=1) as file:
        file.write(b'<tmx><tu a="')
        for _ in range(4):
            file.write(b"a" * (1 << 24))
    with gzip.open(tmp_path / "long.tmx.gz", "wb", compresslevel=1) as file:
        file.write(b"<tmx>")
        for _ in range(40):
            file.write(UNIT.format("x" * (3 << 20)).encode())
        file.write(b"</tmx>")
    program = f"""
import resource
from pathlib import Path
from nmt.system.errors import UserError
from nmt.formats import reading, xml_units
from nmt.text.corpus import iterate_lines
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 60 * 2**20,) * 2)
print(sum(map(len, iterate_lines(Path({str(tmp_path / "long.tmx.gz")!r})))))
try:
    print(*iterate_lines(Path({str(tmp_path / "attribute.tmx.gz#de")!r})))
except UserError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lengths, error = done.stdout.splitlines()
    assert lengths == str(40 * (3 << 20))
    assert error.endswith("a unit or tag of more than 4,194,304 bytes: give one text per unit")
