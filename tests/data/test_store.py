"""Training sets kept on disk: read again, made anew when damaged, and never those of another text or setting."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.texts import KINDS, TEXT, everything, learn

from nmt.data import training_set
from nmt.system.errors import UserError
from nmt.system.files import with_checksum, without_checksum
from nmt.text.corpus import ParallelText


def stores(folder: Path) -> list[Path]:
    return list((folder / "cache").glob("pairs-*"))


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_the_second_time_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, size: int | None
) -> None:
    first = learn(tmp_path, TEXT, kind, size)
    monkeypatch.setattr(training_set, "build", lambda *_: pytest.fail("it was built again"))
    second = learn(tmp_path, TEXT, kind, size)
    assert (second.source, second.target, second.skipped) == (first.source, first.target, first.skipped)
    assert everything(second) == everything(first)


def test_another_text_setting_version_or_rule_is_another_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stores_after(text: ParallelText = TEXT, tokenizer: str = "whitespace", **more: object) -> int:
        learn(tmp_path, text, tokenizer, **more)
        return len(stores(tmp_path))

    assert stores_after() == stores_after() == 1
    texts = [TEXT.source[:-1], TEXT.source[::-1], ["a b", "c"], ["a", "b c"]]
    for number, lines in enumerate(texts, start=2):
        assert stores_after(ParallelText(lines, lines)) == number
    others = [
        *({"tokenizer": "char"}, {"lowercase": False}, {"min_frequency": 2}, {"size": 3}, {"joint": True}),
        *({"tokenizer": "sentencepiece", "size": 36, "subword_model": kind} for kind in ("unigram", "bpe")),
    ]
    for number, setting in enumerate(others, start=len(texts) + 2):
        assert stores_after(**setting) == number
    count = 1 + len(texts) + len(others)
    assert stores_after() == count
    monkeypatch.setattr(training_set, "distributions", list)
    assert stores_after() == count + 1
    (tmp_path / "rules.py").write_text("other rules", encoding="utf-8")
    monkeypatch.setattr(training_set.inspect, "getfile", lambda _: str(tmp_path / "rules.py"))
    assert stores_after() == count + 2


def of_objects(store: Path) -> None:
    """Python objects are pointers: reading them would crash."""
    meta = without_checksum((store / "meta.json").read_bytes())
    (store / "source.uint8").rename(store / "source.object")
    meta["digests"]["source.object"] = meta["digests"].pop("source.uint8")
    (store / "meta.json").write_bytes(with_checksum(meta))


def changed(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda store: (store / name).write_bytes(change((store / name).read_bytes()))


@pytest.mark.parametrize(
    "damage",
    [
        changed("source.uint8", lambda whole: whole[:-1]),
        changed("target_lengths.int32", lambda whole: whole[:-1] + bytes([whole[-1] ^ 1])),
        changed("target_model.uint8", lambda _: b"x"),
        changed("meta.json", lambda whole: whole[:-1]),
        changed("meta.json", lambda whole: whole.replace(b"too_long", b"too_lone")),
        of_objects,
    ],
)
def test_a_damaged_store_is_reported_and_made_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object]
) -> None:
    expected = everything(learn(tmp_path, TEXT, "whitespace"))
    (store,) = stores(tmp_path)
    damage(store)
    assert capsys.readouterr().err == ""
    assert everything(learn(tmp_path, TEXT, "whitespace")) == expected
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith(f"{store} cannot be read (")
    assert message.endswith("building it again")
    assert everything(learn(tmp_path, TEXT, "whitespace")) == expected
    assert capsys.readouterr().err == ""


def test_a_text_that_changes_while_it_is_read_is_refused_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = training_set.build

    def build(*arguments: Any) -> Any:
        [(path, _)] = arguments[2]
        path.write_text("a\n" * next(lengths), encoding="utf-8")
        return real(*arguments)

    monkeypatch.setattr(training_set, "build", build)
    lengths = iter((1, len(TEXT.source)))  # with an error of its own, and without
    for _ in range(2):
        with pytest.raises(UserError, match="was changed while it was read: run again"):
            learn(tmp_path, TEXT, "whitespace")
    assert stores(tmp_path) == []


PROGRAM = """
import sys
from pathlib import Path
from nmt.data import store
from support.texts import TEXT, everything, learn
real = store.with_checksum
def wait(meta):
    print("built", flush=True)
    sys.stdin.readline()
    return real(meta)
store.with_checksum = wait
print(everything(learn(Path(sys.argv[1]), TEXT, "whitespace")))
"""


def process(folder: Path) -> subprocess.Popen[str]:
    """One that builds a store, reports it, and waits for a line before it gives the store its name."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", env=environment)


@pytest.mark.parametrize("is_killed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_of_two_runs_at_once_one_builds_and_the_other_waits(tmp_path: Path, is_killed: bool) -> None:
    builder = process(tmp_path)
    assert builder.stdout is not None
    assert builder.stdout.readline() == "built\n"
    other = process(tmp_path)
    assert other.stderr is not None
    assert other.stderr.readline() == f"Waiting for another process, which works in {tmp_path / 'cache'}\n"
    (unfinished,) = (tmp_path / "cache").glob(".pairs-*")
    (unfinished / "half-written.int32").touch()
    if is_killed:
        builder.kill()
    else:
        (unfinished / "half-written.int32").unlink()
    printed = [builder.communicate("go on\n")[0], other.communicate("go on\n")[0]]
    assert [builder.returncode, other.returncode] == [-9 if is_killed else 0, 0]
    assert not unfinished.exists()
    (store,) = stores(tmp_path)
    assert not (store / "half-written.int32").exists()
    pairs = f"{everything(learn(tmp_path, TEXT, 'whitespace'))}\n"
    assert printed == (["", f"built\n{pairs}"] if is_killed else [pairs, pairs])
