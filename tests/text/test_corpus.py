import gzip
from pathlib import Path

import pytest

from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, Skipped, read_lines, read_pairs


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"eins\nzwei\n", ["eins", "zwei"]),
        (b"\n\n", ["", ""]),
        (b"eins\n\nzwei\n", ["eins", "", "zwei"]),
        (b"eins\r\nzwei\r", ["eins", "zwei"]),
        (b"eins\rzwei\n", ["eins\rzwei"]),
        (b"\xef\xbb\xbfeins\n\xef\xbb\xbfzwei\n", ["eins", "\ufeffzwei"]),
        (
            "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei\nj".encode(),
            ["a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei", "j"],
        ),
        ("  Straße \t\n".encode(), ["  Straße \t"]),
    ],
)
@pytest.mark.parametrize("compress", [False, True])
def test_lines_end_at_newline_alone(tmp_path: Path, data: bytes, lines: list[str], compress: bool) -> None:
    path = written(tmp_path / "t.de.gz", gzip.compress(data, mtime=0)) if compress else written(tmp_path / "t.de", data)
    assert read_lines(path) == lines


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("empty.de", b"", "is empty"),
        ("empty.de.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("named.de", gzip.compress(b"eins\n", mtime=0), "is compressed by gzip: rename it to end in .gz"),
        ("mac.de", b"eins\rzwei\rdrei\r", "its lines end with CR alone: convert it to LF"),
        ("cut.de.gz", gzip.compress(b"eins\n" * 99, mtime=0)[:-9], "not a complete gzip file"),
        ("wrong.de.gz", gzip.compress(b"eins\n", mtime=0)[:10] + b"\xff" * 20, "not a complete gzip file"),
        ("latin.de", "Mädchen\n".encode() + "Straße\n".encode("latin-1"), r"latin\.de, line 2: not valid UTF-8"),
    ],
)
def test_unusable_files(tmp_path: Path, name: str, data: bytes, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as raised:
        read_lines(written(tmp_path / name, data))
    assert str(tmp_path / name) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_unreadable_paths(tmp_path: Path) -> None:
    below = written(tmp_path / "file", b"eins\n") / "below"  # NotADirectoryError, which root meets too
    for path, complaint in (
        (tmp_path / "nowhere", "nowhere does not exist"),
        (tmp_path, "is a folder"),
        (below, r"cannot be read \(Not a directory\)"),
    ):
        with pytest.raises(UserError, match=complaint):
            read_lines(path)


def test_pairs_stay_aligned_beside_strange_line_ends(tmp_path: Path) -> None:
    source = written(tmp_path / "t.de", "a\u2028b\nc\u0085\nd\n".encode())
    target = written(tmp_path / "t.en", b"A\r\nC\r\nD\r\n")
    assert read_pairs(source, target) == ParallelText(["a\u2028b", "c\u0085", "d"], ["A", "C", "D"])
    written(target, b"A\nB\n")
    with pytest.raises(UserError, match=r"t\.de has 3 lines but .*t\.en has 2: "):
        read_pairs(source, target)


def test_skipped_pairs_in_words() -> None:
    words = "skipped 5 pairs: 3 with an empty side, 2 longer than 3 tokens"
    assert str(Skipped(empty=3, too_long=2, max_length=3)) == words
    assert str(Skipped(1, 0, 5)).startswith("skipped 1 pair:")
