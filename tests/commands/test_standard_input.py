"""Standard input: each line is answered as soon as it can be, and the lines of a fast writer share batches."""

import os
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from support.cli import SOURCES, command, error_of

from nmt.cli import main
from nmt.commands import sentences
from nmt.commands.sentences import stream_blocks


def test_a_line_is_answered_before_the_next_one_is_sent(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [SOURCES[0], "", SOURCES[1]]
    assert main(["translate", best, *asked]) == 0
    expected = capsys.readouterr().out.splitlines(keepends=True)
    with subprocess.Popen(command("translate", best), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for sentence, answer in zip(asked, expected, strict=True):
            process.stdin.write(f"{sentence}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode() == answer  # would wait for ever if more input were needed
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.mark.long
def test_workers_answer_before_the_input_ends(best: str) -> None:
    with subprocess.Popen(
        command("translate", best, "--workers", "2"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{SOURCES[0]}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
        process.stdin.write(f"{SOURCES[1]}\n".encode())
        process.stdin.close()
        assert process.stdout.read().count(b"\n") == 1
    assert process.returncode == 0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            assert end == ends[1]  # closed by the test


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a\nb", ["a", "b"]),
        ("a\n\n\n", ["a", "", ""]),
        ("\n  \na\r\n", ["", "  ", "a"]),
        ("\ufeffa\n\ufeffb\n", ["a", "\ufeffb"]),
        ("a\u2028b\x85c\fd\n", ["a\u2028b\x85c\fd"]),
        ("ä" * 40_000 + "\nb\n", ["ä" * 40_000, "b"]),
    ],
)
def test_lines_are_those_of_a_file(tmp_path: Path, sent: str, lines: list[str]) -> None:
    file = tmp_path / "sent"
    file.write_bytes(sent.encode())
    with file.open("rb") as opened:
        assert [line for block in stream_blocks(opened.fileno()) for line in block] == lines


def test_what_has_arrived_is_one_block(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "BLOCK", 3)
    blocks = stream_blocks(pipe[0], patience=0.01)
    os.write(pipe[1], b"a\nb\nha")
    assert next(blocks) == ["a", "b"]  # the third line has no end yet
    assert next(blocks) == []
    os.write(pipe[1], b"lf\n")
    assert next(blocks) == ["half"]
    os.write(pipe[1], b"1\n2\n3\n4\n5")
    os.close(pipe[1])
    assert list(blocks) == [["1", "2", "3"], ["4", "5"]]


def test_a_fast_writers_blocks_are_full(pipe: tuple[int, int]) -> None:
    count = 3_000  # 15 kB: less than a pipe holds
    os.write(pipe[1], b"line\n" * count)
    os.close(pipe[1])
    sizes = [len(block) for block in stream_blocks(pipe[0])]
    assert sum(sizes) == count
    assert all(size == sentences.BLOCK for size, _ in pairwise(sizes))


def test_bad_bytes_are_named_by_their_line(best: str, capfd: pytest.CaptureFixture[str], pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"gut\n\xff\n")
    os.close(pipe[1])
    before = os.dup(0)
    try:
        os.dup2(pipe[0], 0)
        with open(0, encoding="utf-8", closefd=False) as standard_input, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", standard_input)
            assert main(["translate", best]) == 2
    finally:
        os.dup2(before, 0)
        os.close(before)
    assert "standard input, line 2: not valid UTF-8" in error_of(capfd)


def test_an_input_that_cannot_be_read_is_one_line(best: str, tmp_path: Path) -> None:
    with (tmp_path / "write-only").open("wb") as nothing:  # as nohup leaves it
        done = subprocess.run(command("translate", best), stdin=nothing, capture_output=True)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "error: standard input cannot be read (Bad file descriptor): give TEXT or --input FILE\n"
    )
