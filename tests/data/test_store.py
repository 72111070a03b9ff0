"""Training sets kept on disk: read again, made anew when damaged, and never those of another text or setting."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.texts import KINDS, TEXT, everything, learn

from nmt.data import building, training_set
from nmt.system.errors import UserError
from nmt.system.files import with_checksum, without_checksum
from nmt.text.corpus import ParallelText

# Read again


def stores(folder: Path) -> list[Path]:
    return list((folder / "cache").glob("pairs-*"))


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_the_second_time_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, size: int | None
) -> None:
    first = learn(tmp_path, TEXT, kind, size)
    monkeypatch.setattr(building, "build", lambda *_: pytest.fail("it was built again"))
    second = learn(tmp_path, TEXT, kind, size)
    assert (second.source, second.target, second.skipped) == (first.source, first.target, first.skipped)
    assert everything(second) == everything(first)


def test_another_text_setting_version_or_rule_is_another_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stores_after(text: ParallelText = TEXT, tokenizer: str = "whitespace", **more: object) -> int:
        learn(tmp_path, text, tokenizer, **more)
        return len(stores(tmp_path))

    assert stores_after() == stores_after() == 1
    texts = [TEXT.source[:-1], [*TEXT.source, "b"], TEXT.source[::-1], ["a b", "c"], ["a", "b c"], ["a", "b", "c"]]
    for number, lines in enumerate(texts, start=2):
        assert stores_after(ParallelText(lines, lines)) == number
    others = [
        {"tokenizer": "char"},
        {"tokenizer": "spacy"},
        {"lowercase": False},
        {"min_frequency": 2},
        {"size": 3},
        {"joint": True},
        {"tokenizer": "sentencepiece", "size": 36},
        {"tokenizer": "sentencepiece", "size": 36, "subword_model": "bpe"},
        {"tokenizer": "sentencepiece", "size": 36, "subword_sampling": 0.2},
    ]
    for number, setting in enumerate(others, start=len(texts) + 2):
        assert stores_after(**setting) == number
    count = 1 + len(texts) + len(others)
    assert stores_after(tokenizer="sentencepiece", size=36, subword_sampling=0.7) == count
    assert stores_after() == count
    monkeypatch.setattr(training_set, "distributions", list)
    assert stores_after() == count + 1
    (tmp_path / "rules.py").write_text("other rules", encoding="utf-8")
    monkeypatch.setattr(training_set.inspect, "getfile", lambda _: str(tmp_path / "rules.py"))
    assert stores_after() == count + 2


# Damaged


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("source.npy", lambda whole: whole[:-1]),
        ("target_ends.npy", lambda whole: whole[:-1] + bytes([whole[-1] ^ 1])),
        ("target_model.npy", lambda _: b""),
        ("meta.json", lambda whole: whole[:-1]),
        ("meta.json", lambda _: b"[]"),
        ("meta.json", lambda _: b"{}"),
        ("meta.json", lambda whole: whole.replace(b"too_long", b"too_lone")),
        ("meta.json", lambda whole: whole + b"\n"),
    ],
)
def test_a_damaged_store_is_said_and_made_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, damage: Callable[[bytes], bytes]
) -> None:
    expected = everything(learn(tmp_path, TEXT, "whitespace"))
    (store,) = stores(tmp_path)
    (store / name).write_bytes(damage((store / name).read_bytes()))
    assert capsys.readouterr().err == ""
    assert everything(learn(tmp_path, TEXT, "whitespace")) == expected
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"{store} cannot be read (")
    assert said.endswith("building it again")
    assert everything(learn(tmp_path, TEXT, "whitespace")) == expected
    assert capsys.readouterr().err == ""


def test_a_pickle_is_never_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = everything(learn(tmp_path, TEXT, "whitespace"))
    (store,) = stores(tmp_path)
    np.save(store / "source.npy", np.array([print], dtype=object), allow_pickle=True)
    meta = without_checksum((store / "meta.json").read_bytes())
    meta["digests"]["source.npy"] = training_set.file_digest(store / "source.npy")
    (store / "meta.json").write_bytes(with_checksum(meta))
    assert everything(learn(tmp_path, TEXT, "whitespace")) == expected
    assert "building it again" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"")
    with pytest.raises(UserError, match="cache cannot be created"):
        learn(tmp_path, TEXT, "whitespace")


# Two runs at once


PROGRAM = """
import sys
from pathlib import Path
from nmt.data import building
from nmt.data.training_set import load_training_set
from support.texts import TEXT, learn
real = building.keep_store
def wait(*arguments):
    print("built", flush=True)
    sys.stdin.readline()
    return real(*arguments)
building.keep_store = wait
pairs = learn(Path(sys.argv[1]), TEXT, "whitespace")
print(pairs.examples(range(len(pairs)), "0"))
"""


def process(folder: Path) -> subprocess.Popen[str]:
    """One that builds a store, says so, and waits for a line before it gives the store its name."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", env=environment)


def begin(folder: Path) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """Such a process that has built a store, and one that waits for it."""
    builder = process(folder)
    assert builder.stdout is not None
    assert builder.stdout.readline() == "built\n"
    other = process(folder)
    assert other.stderr is not None
    assert other.stderr.readline() == f"Waiting for another process, which works in {folder / 'cache'}\n"
    return builder, other


def test_of_two_runs_at_once_one_builds_and_the_other_waits(tmp_path: Path) -> None:
    builder, other = begin(tmp_path)
    (building,) = (tmp_path / "cache").glob(".pairs-*")
    printed = [builder.communicate("go on\n")[0], other.communicate()[0]]  # the other would say, too, that it builds
    assert [builder.returncode, other.returncode] == [0, 0]
    assert not building.exists()
    assert printed == [f"{everything(learn(tmp_path, TEXT, 'whitespace'))}\n"] * 2


@pytest.mark.long
def test_of_two_runs_at_once_one_is_killed_and_the_other_builds(tmp_path: Path) -> None:
    killed, other = begin(tmp_path)
    (left,) = (tmp_path / "cache").glob(".pairs-*")
    (left / "half-written").touch()
    killed.kill()
    killed.communicate()
    printed = other.communicate("go on\n")[0]
    assert other.returncode == 0
    assert not left.exists()
    (store,) = stores(tmp_path)
    assert not (store / "half-written").exists()
    assert printed == f"built\n{everything(learn(tmp_path, TEXT, 'whitespace'))}\n"
