"""Input and output of `nmt translate`: standard input line by line, progress, and --resume after an interruption."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.cli import SOURCES, command, error_of

from nmt.cli import main
from nmt.commands import output, sentences
from nmt.commands.output import note_path
from nmt.commands.sentences import stream_blocks
from nmt.system.errors import UserError


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
    assert list(blocks) == [["1", "2", "3"], ["4"], ["5"]]  # the last one may have gone on


def test_a_pipe_that_does_not_block_is_waited_for(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[0], False)
    later = threading.Timer(0.1, os.write, [pipe[1], b"a\n"])
    later.start()
    assert next(stream_blocks(pipe[0])) == ["a"]
    later.join()


@pytest.mark.parametrize("sent", [b"abcd\ne\n", b"a\nbcde"])
def test_a_line_too_long_is_refused(sent: bytes, pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "LONGEST_LINE", 3)
    os.write(pipe[1], sent)
    os.close(pipe[1])
    with pytest.raises(UserError, match="a line of more than 3 bytes: give one sentence per line"):
        list(stream_blocks(pipe[0]))


def test_what_cannot_be_read_is_one_line(best: str, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"gut\n\xff\n")
    for mode, message in (
        ("rb", "standard input, line 2: not valid UTF-8 text; convert it to UTF-8"),
        ("ab", "standard input cannot be read (Bad file descriptor): give TEXT or --input FILE"),  # as nohup leaves it
    ):
        with (tmp_path / "bytes").open(mode) as standard_input:
            done = subprocess.run(command("translate", best), stdin=standard_input, capture_output=True)
        assert (done.returncode, done.stderr.decode()) == (2, f"error: {message}\n")


def stop_after(monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    """Press Ctrl-C when so many blocks are written."""
    real, count = output.format_lines, 0

    def format_lines(*arguments: object) -> list[str]:
        nonlocal count
        if count == blocks:
            raise KeyboardInterrupt
        count += 1
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(output, "format_lines", format_lines)


def translate(best: str, source: Path, *more: str) -> int:
    return main(["translate", best, "--input", str(source), "--threads", "1", *more])


@pytest.mark.parametrize("form", [[], ["--json"], ["--n-best", "2", "--workers", "2"]], ids=lambda form: form[:1])
def test_resuming_gives_the_bytes_of_an_undisturbed_run(
    best: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    out = tmp_path / "out"
    assert translate(best, source, *form[:2]) == 0
    printed = capsys.readouterr().out
    for blocks, done, rest in ((0, 0, b""), (2, 4, b"half a li"), (1, 6, b"a line that the note does not have\n")):
        with pytest.MonkeyPatch.context() as patch:
            stop_after(patch, blocks)
            assert translate(best, source, "--output", str(out), "--resume", *form[:2]) == 130
        assert "--resume" in capsys.readouterr().err
        assert json.loads(note_path(out).read_text(encoding="utf-8"))["sentences"] == done
        with out.open("ab") as file:
            file.write(rest)
    assert translate(best, source, "--output", str(out), "--resume", *form) == 0
    assert out.read_text(encoding="utf-8") == printed
    assert not note_path(out).exists()
    assert capsys.readouterr().out == ""


def test_what_is_refused_before_the_first_line_leaves_nothing_in_the_way(
    best: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(tmp_path.iterdir())
    for checkpoint, out, more, words in (
        ("typo.safetensors", "out", [], "typo.safetensors does not exist"),
        (best, "out", ["--n-best", "9"], "n_best (9) must lie between 1 and"),
        (best, ".", [], "is a folder: give --output the name of a file"),
        (best, "out.gz", [], "out.gz: the text is written uncompressed: leave out .gz"),
    ):
        assert translate(checkpoint, source, "--output", str(tmp_path / out), *more) == 2
        assert words in error_of(capsys)
        assert set(tmp_path.iterdir()) == before


def test_nothing_is_overwritten_and_nothing_foreign_continued(
    best: str, runs: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 3)
        assert translate(best, source, "--output", str(out)) == 130
    capsys.readouterr()
    before = out.read_bytes()

    def refused(*more: str, checkpoint: str = best, words: str) -> None:
        assert translate(checkpoint, source, "--output", str(out), *more) == 2
        assert words in error_of(capsys)
        assert out.read_bytes() == before

    refused(words="add --resume to continue it")
    refused("--resume", "--beam", "1", words="a different --beam")
    refused("--resume", "--json", words="a different --json")
    refused("--resume", checkpoint=str(runs / "none" / "best.safetensors"), words="a different checkpoint")
    text = source.read_bytes()
    source.write_bytes(text + b"\nmore")
    refused("--resume", words="a different --input")
    source.write_bytes(text)
    note, before = note_path(out).read_bytes(), before[:-3]
    out.write_bytes(before)
    refused("--resume", words="shorter than when it was written")
    for changed in (note[:-5], note.replace(b'"sentences": 6', b'"sentences": 5')):
        assert changed != note
        note_path(out).write_bytes(changed)
        refused("--resume", words="cannot be read")
    note_path(out).unlink()
    refused(words="already exists: remove it, or choose another --output")
    refused("--resume", words="nothing to resume")


def test_a_terminal_sees_progress(
    best: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert translate(best, source, "--output", str(tmp_path / "quiet")) == 0
    assert capsys.readouterr().err.count("\n") == 1  # that it has no threshold
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert translate(best, source, "--output", str(tmp_path / "out")) == 0
    printed, shown = capsys.readouterr()
    assert printed == ""
    assert "11/11" in shown
    assert "lines/s" in shown
    assert main(["translate", best, "--input", str(source)]) == 0
    assert capsys.readouterr().out == (tmp_path / "out").read_text(encoding="utf-8")
