"""One list of pairs, written in every format by other people's writers."""

import csv
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import polib
import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd
from lxml import etree
from lxml.builder import E

PAIRS = [
    ("Open the file", "Die Datei öffnen"),
    ('He said "yes", and left;', "Er sagte „ja“ und ging;"),
    ("One line\nand another\n", "Eine Zeile\nund noch eine\n"),
    ("<b>%s</b> & %1\tcells", "<b>%s</b> & %1\tZellen"),
    ("Not translated", ""),
    ("a\u2028b\u00a0c 😀", "ä\u2028b\u00a0c 😀"),
    ("# no comment", "#kein Kommentar"),
]
LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def write_csv(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, "excel-tab" if path.suffix == ".tsv" else "excel").writerows([("en", "de"), *PAIRS])


def write_lines(path: Path) -> None:
    rows = [{"id": n, "translation": {"en": en, "de": de or None}} for n, (en, de) in enumerate(PAIRS)]
    path.write_text("".join(json.dumps(row, ensure_ascii=n % 2 == 0) + "\n" for n, row in enumerate(rows)), "utf-8")


def write_tmx(path: Path) -> None:
    units = [[(code, text) for code, text in zip(("en-US", "de-DE"), pair, strict=True) if text] for pair in PAIRS]
    tus = [E.tu(E.prop("ui"), *(E.tuv(E.seg(text), {LANG: code}) for code, text in unit)) for unit in units]
    tree = etree.ElementTree(E.tmx(E.header(E.note("tu"), srclang="en"), E.body(*tus)))
    tree.write(path, encoding="UTF-16", xml_declaration=True, doctype="<!DOCTYPE tmx SYSTEM 't.dtd'>")


def write_xliff(path: Path) -> None:
    units = [E("trans-unit", E.source(en), E.target(de), E("alt-trans", E.target("x"))) for en, de in PAIRS]
    file = E.file(E.body(E.group(*units)), {"source-language": "en", "target-language": "de"})
    root = E.xliff(file, xmlns="urn:oasis:names:tc:xliff:document:1.2")
    etree.ElementTree(root).write(path, encoding="UTF-8", pretty_print=False)


def write_xliff2(path: Path) -> None:
    segments = [E.segment(E.source(en), *([E.target(de)] if de else [])) for en, de in PAIRS]
    units = [E.unit(*segments[:3]), E.unit(*segments[3:])]
    root = E.xliff(E.file(*units), srcLang="en", trgLang="de", xmlns="urn:oasis:names:tc:xliff:document:2.0")
    etree.ElementTree(root).write(path, encoding="UTF-8")


def catalogue() -> polib.POFile:
    messages = polib.POFile()
    messages.metadata = {"Language": "de_DE", "Content-Type": "text/plain; charset=UTF-8"}
    messages.extend(polib.POEntry(msgid=en, msgstr=de, comment="for people") for en, de in PAIRS)
    return messages


def write_mo(path: Path) -> None:
    catalogue().save_as_mofile(str(path))


def write_parquet(path: Path) -> None:
    rows = [{"n": n, "tags": ["x"], "translation": {"en": en, "de": de or None}} for n, (en, de) in enumerate(PAIRS)]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)


WRITERS: dict[str, Callable[[Path], None]] = {
    "pairs.csv": write_csv,
    "pairs.tsv": write_csv,
    "pairs.jsonl": write_lines,
    "pairs.tmx": write_tmx,
    "pairs.xlf": write_xliff,
    "two.xliff": write_xliff2,
    "pairs.po": lambda path: catalogue().save(str(path)),
    "pairs.mo": write_mo,
    "pairs.parquet": write_parquet,
}
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
