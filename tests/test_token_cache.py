"""Tokens from the cache are those that were made without it, and never those of another text or tokenizer."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nmt.config import Config
from nmt.data import token_cache
from nmt.data.codec import build_codecs
from nmt.data.corpus import ParallelText
from nmt.data.token_cache import subword_model, tokenize_lines
from nmt.data.tokenizers import (
    CharTokenizer,
    SentencePieceTokenizer,
    SpacyTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    train_sentencepiece,
)
from nmt.errors import UserError
from nmt.training.interruption import StopSignals
from nmt.training.run import run

LINES = ["Ein Hund läuft.", "", "Don't!\u2028Zwei\u0085Hunde, ▁ 🐕‍🦺…", "\t ", "ein hund ein Hund", "<eos> <unk>"]
MODEL = train_sentencepiece(LINES, 40, "bpe", lowercase=True)
OTHER_MODEL = train_sentencepiece(LINES, 41, "bpe", lowercase=True)
KEPT = [SpacyTokenizer("de", False), SentencePieceTokenizer(MODEL, True)]


def forbid(monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer) -> None:
    """From here on, this kind of tokenizer fails."""

    def fail(*_: object) -> list[str]:
        raise AssertionError("the text was tokenised again")

    monkeypatch.setattr(type(tokenizer), "tokenize", fail)


@pytest.mark.parametrize("tokenizer", KEPT)
@pytest.mark.parametrize("lines", [LINES, [], [""], ["Hund"]])
def test_the_second_time_the_same_tokens_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer, lines: list[str]
) -> None:
    expected = [tokenizer.tokenize(line) for line in lines]
    assert tokenize_lines(tokenizer, lines, tmp_path) == expected
    forbid(monkeypatch, tokenizer)
    assert tokenize_lines(tokenizer, lines, tmp_path) == expected


@pytest.mark.parametrize("tokenizer", [WhitespaceTokenizer(True), CharTokenizer(False)])
def test_what_is_fast_is_not_kept(tmp_path: Path, tokenizer: Tokenizer) -> None:
    assert tokenize_lines(tokenizer, LINES, tmp_path) == [tokenizer.tokenize(line) for line in LINES]
    assert not list(tmp_path.iterdir())


def test_rules_of_which_no_version_is_known_are_not_kept(tmp_path: Path) -> None:
    chinese = SpacyTokenizer("zh", True)
    assert tokenize_lines(chinese, ["狗跑"], tmp_path) == [chinese.tokenize("狗跑")]
    assert not list(tmp_path.iterdir())


def test_another_text_tokenizer_version_or_rule_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def files_after(tokenizer: Tokenizer, lines: list[str]) -> int:
        assert tokenize_lines(tokenizer, lines, tmp_path) == [tokenizer.tokenize(line) for line in lines]
        return len(list(tmp_path.iterdir()))

    spacy = SpacyTokenizer("de", False)
    texts = [LINES, LINES[:-1], [*LINES, ""], LINES[::-1], ["a b", "c"], ["a", "b c"], ["a\nb"], ["a", "b"]]
    for count, lines in enumerate(texts, start=1):
        assert files_after(spacy, lines) == count
    others = [SpacyTokenizer("en", False), SpacyTokenizer("de", True)]
    others += [SentencePieceTokenizer(m, case) for m in (MODEL, OTHER_MODEL) for case in (False, True)]
    for count, tokenizer in enumerate(others, start=len(texts) + 1):
        assert files_after(tokenizer, LINES) == count
    count = len(texts) + len(others)
    assert files_after(spacy, LINES) == count
    for library in ("spacy", "sentencepiece"):
        monkeypatch.setattr(token_cache, "version", lambda name, new=library: "99" if name == new else "1")
        count += 1
        assert files_after(spacy, LINES) == count
    monkeypatch.setattr(token_cache.inspect, "getsource", lambda _: "other rules")
    assert files_after(spacy, LINES) == count + 1


def test_the_subword_model_is_trained_once_for_each_text_and_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [(40, "bpe", True), (41, "bpe", True), (30, "unigram", True), (40, "bpe", False)]
    expected = [train_sentencepiece(LINES, *setting) for setting in settings]
    assert len(set(expected)) == len(settings)
    assert [subword_model(LINES, *setting, tmp_path) for setting in settings] == expected
    other = subword_model(LINES[:-1], 30, "bpe", True, tmp_path)
    monkeypatch.setattr(token_cache, "train_sentencepiece", None)
    assert [subword_model(LINES, *setting, tmp_path) for setting in settings] == expected
    assert subword_model(LINES[:-1], 30, "bpe", True, tmp_path) == other


def test_what_cannot_be_trained_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="too large"):
        subword_model(LINES, 4000, "bpe", True, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:0],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1],
        lambda whole: b"no archive at all" + whole,
        lambda whole: whole.replace("läuft".encode(), b"lauft!"),
        lambda whole: whole[:300] + bytes([whole[300] ^ 1]) + whole[301:],
    ],
)
def test_a_damaged_file_is_said_and_made_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[bytes], bytes]
) -> None:
    tokenizer = KEPT[0]
    expected = tokenize_lines(tokenizer, LINES, tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    assert capsys.readouterr().err == ""
    assert tokenize_lines(tokenizer, LINES, tmp_path) == expected
    said = capsys.readouterr().err
    assert said.startswith(f"{path} cannot be read (")
    assert said.endswith("making it anew\n")
    assert tokenize_lines(tokenizer, LINES, tmp_path) == expected
    assert capsys.readouterr().err == ""


def test_a_pickle_is_never_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = tokenize_lines(KEPT[0], LINES, tmp_path)
    (path,) = tmp_path.iterdir()
    with path.open("wb") as file:
        np.savez(file, types=np.array([object()]), tokens=np.zeros(1), lengths=np.zeros(1))
    assert tokenize_lines(KEPT[0], LINES, tmp_path) == expected
    assert "cannot be read (ValueError): making it anew" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_bytes(b"")
    expected = [KEPT[0].tokenize(line) for line in LINES]
    assert tokenize_lines(KEPT[0], LINES, tmp_path / "file" / "cache") == expected
    assert "cannot be made a folder" in capsys.readouterr().err


def test_two_processes_at_once_leave_one_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, lines = KEPT[0], LINES * 500
    program = (
        "import sys; from pathlib import Path; from nmt.data.token_cache import tokenize_lines\n"
        "from nmt.data.tokenizers import SpacyTokenizer\n"
        f"print(tokenize_lines({tokenizer!r}, {LINES!r} * 500, Path({str(tmp_path)!r})))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-X", "utf8", "-c", program], stdout=subprocess.PIPE, encoding="utf-8")
        for _ in range(2)
    ]
    expected = [tokenizer.tokenize(line) for line in lines]
    for process in processes:
        assert process.communicate()[0] == f"{expected}\n"
        assert process.returncode == 0
    assert len(list(tmp_path.iterdir())) == 1
    forbid(monkeypatch, tokenizer)
    assert tokenize_lines(tokenizer, lines, tmp_path) == expected


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize(("kind", "size"), [("spacy", "null"), ("sentencepiece", 24)])
def test_codecs_are_the_same_with_a_cache(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_config: Callable[..., Config],
    text: dict[str, ParallelText],
    kind: str,
    size: object,
    joint: bool,
) -> None:
    sides = ("source", "target")
    config = make_config(
        f"data.joint_vocabulary={joint}",
        *(f"data.{side}.tokenizer={kind}" for side in sides),
        *(f"data.{side}.vocabulary_size={size}" for side in sides),
    ).data
    expected = build_codecs(config, text["train"])
    assert build_codecs(config, text["train"], tmp_path / "cache") == expected
    forbid(monkeypatch, expected[0].tokenizer)
    monkeypatch.setattr(token_cache, "train_sentencepiece", None)
    assert build_codecs(config, text["train"], tmp_path / "cache") == expected


def test_a_run_keeps_its_tokens_in_the_data_folder(tmp_path: Path, make_config: Callable[..., Config]) -> None:
    folder = tmp_path / "data"
    config = make_config("data.source.tokenizer=spacy", f"data.folder={folder}", "training.max_updates=1")
    run(config, StopSignals(), resume=False)
    (kept,) = (folder / "cache").iterdir()
    assert kept.name.startswith("tokens-")
