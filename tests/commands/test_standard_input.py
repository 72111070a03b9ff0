"""Standard input: each line is answered as soon as it can be, and the lines of a fast writer share batches."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.cli import SOURCES, command

from nmt.cli import main
from nmt.commands import sentences
from nmt.commands.sentences import stream_blocks


def test_a_line_is_answered_before_the_next_one_is_sent(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [SOURCES[0], "", SOURCES[1]]
    assert main(["translate", best, *lines]) == 0
    expected = capsys.readouterr().out.splitlines(keepends=True)
    with subprocess.Popen(command("translate", best), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for sentence, answer in zip(lines, expected, strict=True):
            process.stdin.write(f"{sentence}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode() == answer  # would wait for ever if more input were needed
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # the test has closed the end for writing
            os.close(end)


def test_lines_are_those_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "sent"
    for sent, lines in {
        "": [],
        "\n": [""],
        "a\nb": ["a", "b"],
        "a\n\n\n": ["a", "", ""],
        "\n  \na\r\n": ["", "  ", "a"],
        "\ufeffa\n\ufeffb\n": ["a", "\ufeffb"],
        "a\u2028b\x85c\fd\n": ["a\u2028b\x85c\fd"],
        "ä" * 40_000 + "\nb\n": ["ä" * 40_000, "b"],
    }.items():
        file.write_bytes(sent.encode())
        with file.open("rb") as opened:
            assert [line for block in stream_blocks(opened.fileno()) for line in block] == lines


def test_what_has_arrived_is_one_block(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "BLOCK", 3)
    blocks = stream_blocks(pipe[0])
    os.write(pipe[1], b"a\nb\nha")
    assert next(blocks) == ["a", "b"]  # the third line has no end yet
    os.write(pipe[1], b"lf\n")
    assert next(blocks) == ["half"]
    os.write(pipe[1], b"1\n2\n3\n4\n5")
    os.close(pipe[1])
    assert list(blocks) == [["1", "2", "3"], ["4", "5"]]


def test_what_cannot_be_read_is_one_line(best: str, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"gut\n\xff\n")
    for mode, message in (
        ("rb", "standard input, line 2: not valid UTF-8 text; convert it to UTF-8"),
        ("ab", "standard input cannot be read (Bad file descriptor): give TEXT or --input FILE"),  # as nohup leaves it
    ):
        with (tmp_path / "bytes").open(mode) as standard_input:
            done = subprocess.run(command("translate", best), stdin=standard_input, capture_output=True)
        assert (done.returncode, done.stderr.decode()) == (2, f"error: {message}\n")
