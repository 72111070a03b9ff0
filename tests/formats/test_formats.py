"""One list of pairs in every format and compression is read back as it was written."""

import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from nmt.system.errors import UserError
from nmt.text.corpus import iterate_lines, of_language, read_lines, read_pairs, text_digest
from tests.formats.conftest import COMPRESSORS, PAIRS, WRITERS

ENCODED = [tuple(text.replace("\n", "␤") for text in pair) for pair in PAIRS]


@pytest.mark.parametrize("ending", COMPRESSORS)
@pytest.mark.parametrize("name", WRITERS)
def test_what_others_write_is_read_back(tmp_path: Path, name: str, ending: str) -> None:
    WRITERS[name](tmp_path / name)
    path = tmp_path / (name + ending)
    path.write_bytes(COMPRESSORS[ending]((tmp_path / name).read_bytes()))
    pairs = read_pairs(path, path, ("en", "de"))
    read = [*zip(pairs.source, pairs.target, strict=True)]
    if name == "pairs.mo":  # which is sorted, and has no untranslated messages
        assert sorted(read) == sorted(pair for pair in ENCODED if all(pair))
    else:
        assert read == ENCODED
    if ending:
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(UserError, match=rf"{name}{ending} is not a complete {ending[1:]} file"):
            read_pairs(path, path, ("en", "de"))


@pytest.mark.parametrize("ending", [".xz", ".zst"])
def test_plain_lines_may_be_compressed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text.de{ending}"
    path.write_bytes(COMPRESSORS[ending]("\ufeffein\u2028s\r\n\nzwei".encode()))
    assert read_lines(of_language(path, "de")) == ["ein\u2028s", "", "zwei"]
    with pytest.raises(UserError, match=r"has lines and no columns: leave out #de"):
        read_lines(tmp_path / f"{path.name}#de")


@pytest.mark.parametrize("name", WRITERS)
def test_wrong_languages_and_files_are_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    with pytest.raises(UserError, match=rf"{name} has no column or language du: it has .*en.*; write .*{name}#"):
        read_lines(tmp_path / f"{name}#du")
    whole = path.read_bytes()
    contents = [b"", b"\x00\xff\xfe" * 50]
    for content in contents if path.suffix in (".csv", ".tsv") else [*contents, whole[: len(whole) // 2]]:
        path.write_bytes(content)
        with pytest.raises(UserError, match=str(path)) as raised:
            read_lines(tmp_path / f"{name}#de")
        assert "\n" not in str(raised.value)


def test_a_digest_sees_content_and_column(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    WRITERS["pairs.csv"](path)
    digests = {text_digest(tmp_path / name) for name in ("pairs.csv#en", "pairs.csv#de", "pairs.csv#de")}
    path.write_text(path.read_text("utf-8") + "more,mehr\n", "utf-8")
    assert len(digests | {text_digest(tmp_path / "pairs.csv#de")}) == 3


def test_messages_with_plurals_fuzzy_and_obsolete_ones(tmp_path: Path) -> None:
    path = tmp_path / "t.po"
    path.write_text(
        'msgid ""\nmsgstr "Language: de\\n"\n\n'
        'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d Datei"\nmsgstr[1] "%d Dateien"\n\n'
        '#, fuzzy\nmsgid "Open"\nmsgstr "Schließen"\n\n#~ msgid "Old"\n#~ msgstr "Alt"\n',
        "utf-8",
    )
    pairs = read_pairs(path, path, ("en", "de"))
    assert pairs.source == ["%d file", "%d files", "Open"]
    assert pairs.target == ["%d Datei", "%d Dateien", ""]
    assert read_lines(tmp_path / "t.po#target") == pairs.target
    path.write_bytes(path.read_text("utf-8").encode("latin-1"))
    with pytest.raises(UserError, match=r"t\.po, line 11: not valid utf-8 text"):
        read_lines(tmp_path / "t.po#de")
    path.write_text('msgid "a"\nmsgstr "b" c\n', "utf-8")
    with pytest.raises(UserError, match=r"t\.po, line 2: not a valid \.po file"):
        read_lines(tmp_path / "t.po#target")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not an object"),
        ('{"de": 3}', "de is no text"),
        ("[" * 10**5, "not valid JSON"),
    ],
)
def test_wrong_json_lines(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "t.jsonl").write_text(f'{{"en": "a", "de": "b"}}\n{{"en": "a"}}\n\n{line}\n', "utf-8")
    with pytest.raises(UserError, match=rf"t\.jsonl, line 4: {complaint}"):
        [*iterate_lines(tmp_path / "t.jsonl#de")]


@pytest.mark.parametrize(
    ("name", "module"), [("t.po", "polib"), ("t.parquet", "pyarrow"), ("t.csv.zst", "backports.zstd")]
)
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str) -> None:
    (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"{name} needs the package {module}: run pip install -e '\.\[formats\]' in"):
        read_lines(tmp_path / f"{name}#de")


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    random = Random(1)
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    for count in [1, 2, 5, 20] * 10:
        content = bytearray(whole)
        for position in random.sample(range(len(whole)), count):
            content[position : position + random.choice([0, 1, 1, 9])] = random.choice(
                [b"", b"<", b'"', b"\n", b"\xff"]
            )
        path.write_bytes(content)
        with suppress(UserError):
            read_lines(tmp_path / f"{name}#de")
