"""CSV and TSV against what Python's csv writes, and what their errors say."""

import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.system.errors import UserError
from nmt.text.corpus import iterate_lines, read_pairs

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def encoded(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "␤")


@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1), dialect=st.sampled_from(["excel", "unix", "excel-tab"]))
def test_what_csv_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], dialect: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / ("pairs.tsv" if dialect == "excel-tab" else "pairs.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, dialect, quoting=csv.QUOTE_ALL).writerows([("en", "de"), *rows])
    pairs = read_pairs(path, path, ("en", "de"))
    assert [*zip(pairs.source, pairs.target, strict=True)] == [tuple(map(encoded, row)) for row in rows]


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("t.csv#de", "id,en,de\n1,a,ä\n", ["ä"]),
        ("t.csv#de", "en_US,de_AT\na,ä\n", ["ä"]),
        ("t.csv#de", "English,German\na,ä\n", ["ä"]),
        ("t.csv#Ziel", "Quelle,Ziel\na,ä\n", ["ä"]),
        ("t.csv#2", "en,de\na,ä\n", ["ä"]),
        ("t.csv#2", "a,ä\nb,ö\n", ["ä", "ö"]),
        ("t.csv#de", "en;de\r\n1,5;1,5 m\r\n", ["1,5 m"]),
        ("t.csv#de", '"en";"de"\na;b\n', ["b"]),
        ("t.csv#de", "\ufeffde,en\nä,a\n\nö,o\n", ["ä", "ö"]),
        ("t.csv#de", 'de,en\n"eins\r\n\r\nzwei ""drei""",a\n', ['eins␤␤zwei "drei"']),
        ("t.csv", "text\na\nb\n", ["a", "b"]),
        ("t.tsv#de", 'en\tde\n"Hi," she said.\t„Hallo“\n"Oh!"\t"Ach!"\n', ["„Hallo“", '"Ach!"']),
        ("t.tsv#de", 'en\tde\na\t"eins\nzwei"\n', ["eins␤zwei"]),
    ],
)
def test_columns_and_dialects(tmp_path: Path, name: str, content: str, texts: list[str]) -> None:
    (tmp_path / name.partition("#")[0]).write_bytes(content.encode())
    assert [*iterate_lines(tmp_path / name)] == texts


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.csv#du", b"en,de\na,b\n", r"t\.csv has no column or language du: it has en, de; write .*t\.csv#de$"),
        ("t.csv", b"en,de\na,b\n", r"t\.csv has several columns or languages \(en, de\): name one, as .*t\.csv#en$"),
        ("t.csv#de", b"de-DE,de-AT\na,b\n", r"t\.csv: de may be de-DE and de-AT: name one, as .*t\.csv#de-DE$"),
        ("t.csv#de", b"en,de\na,b\nHello, world,c\n", r"t\.csv, line 3: 3 cells, and the first line has 2: "),
        ("t.csv#de", b'en,de\na,b\n"a,b\nc,d\n', r"t\.csv, line 3: not valid CSV \(unexpected end of data\)"),
        ("t.csv#de", b"en,de\na,b\n\xe4,b\n", r"t\.csv, line 3: not valid UTF-8 text"),
        ("t.csv#de", b"", r"t\.csv is empty"),
        ("t.csv#de", b"en,de\n", r"t\.csv has no texts"),
        ("t.csv.gz#de", gzip.compress(b"en,de\na,b\n", mtime=0)[:-9], r"t\.csv\.gz is not a complete gz file"),
        ("t.csv#de", None, r"t\.csv does not exist"),
    ],
)
def test_one_line_says_what_is_wrong(tmp_path: Path, name: str, content: bytes | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / name.partition("#")[0]).write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        [*iterate_lines(tmp_path / name)]


def test_a_file_of_that_whole_name_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("en,de\na,b\n", encoding="utf-8")
    (tmp_path / "t.csv#de").write_text("c,d\n", encoding="utf-8")
    (tmp_path / "t#1.csv").write_text("en,de\ne,f\n", encoding="utf-8")
    assert [*iterate_lines(tmp_path / "t.csv#de")] == ["c,d"]
    assert [*iterate_lines(tmp_path / "t#1.csv#de")] == ["f"]
