"""`nmt back-translate`: pairs for `data.*.extra`, the same after an interruption and by any number of workers."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.cli import SOURCES, all_named, error_of, write_corpus

from nmt import addons
from nmt.augment.commands import back_translate
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main
from nmt.commands import sentences
from nmt.config.data import DataConfig
from nmt.data.training_set import load_training_set

NEW = ["die Katze läuft weg", "der Hund", "Katze", "der kleine Hund", "der kleine Hund schläft", "die Katze weg"]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six new lines, an empty one and two of the validation set, in blocks of two."""
    monkeypatch.setattr(sentences, "BLOCK", 2)
    path = tmp_path / "text.txt"
    lines = [*NEW[:2], "", SOURCES[1].upper(), *NEW[2:], f"  {SOURCES[0]} "]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def back(best: str, text: Path, out: Path, *more: str) -> int:
    return main(["back-translate", best, "--input", str(text), "--output", str(out), "--threads", "1", *more])


def lines_of(out: Path, language: str) -> list[str]:
    return out.with_name(f"{out.name}.{language}").read_text(encoding="utf-8").splitlines()


def translate(best: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    assert main(["translate", best, "--threads", "1", *more, *NEW]) == 0
    return capsys.readouterr().out.splitlines()


def test_pairs_are_the_lines_and_their_translations(
    best: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawing = ["--temperature", "1.5", "--max-length", "4"]
    expected = [pair for pair in zip(NEW, translate(best, capsys, *drawing), strict=True) if pair[1]]
    out = tmp_path / "made" / "pairs"
    assert back(best, text, out, *drawing) == 0
    assert list(zip(lines_of(out, "de"), lines_of(out, "en"), strict=True)) == expected
    assert len(expected) > 3
    output = capsys.readouterr().out
    assert f"{len(expected)} pairs of 6 lines" in output
    assert "Left out: 2 lines equal to" in output
    assert [path.name for path in sorted(out.parent.iterdir())] == ["pairs.de", "pairs.en"]
    # What is printed is the part of a config that trains on them.
    values = write_corpus(tmp_path / "corpus")["data"]
    values["source"], values["target"] = values["target"], values["source"]
    for side, extra in yaml.safe_load(output.partition("\n\n")[2].partition("\n\n")[2])["data"].items():
        values[side] |= extra
    pairs = load_training_set(DataConfig.model_validate(values))
    assert len(pairs) == 4 * len(SOURCES) + len(expected)
    assert "<BT>" in pairs.source.vocabulary.tokens


@pytest.mark.parametrize("form", [["--n-best", "3"], ["--temperature", "1.2", "--seed", "4"]], ids=str)
def test_stopped_and_resumed_by_workers_it_gives_the_same_bytes(
    best: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert back(best, text, whole, *form) == 0
    assert len(lines_of(whole, "en")) == len(lines_of(whole, "de")) > 2
    with pytest.MonkeyPatch.context() as patch:
        blocks = iter([back_translate._translate_block])

        def stopping(*arguments: Any) -> tuple[int, list[str]]:
            for translate in blocks:
                return translate(*arguments)
            raise KeyboardInterrupt

        patch.setattr(back_translate, "_translate_block", stopping)
        assert back(best, text, out, *form) == 130
    assert "--resume" in capsys.readouterr().err
    assert not out.with_name("out.en").exists()
    note = json.loads((tmp_path / "out.pairs.unfinished").read_text(encoding="utf-8"))
    assert note["sentences"] == 2
    assert back(best, text, out, *form) == 2
    assert "add --resume" in error_of(capsys)
    assert back(best, text, out, *form, "--resume", "--beam", "1") == 2
    assert "a different --beam" in error_of(capsys)
    workers = ["--workers", "2"] if "--seed" in form else []
    assert back(best, text, out, *form, "--resume", *workers) == 0
    for language in ("de", "en"):
        assert lines_of(out, language) == lines_of(whole, language)
    capsys.readouterr()
    assert back(best, text, out, *form, "--resume") == 2
    assert "out.de already exists" in error_of(capsys)


@pytest.mark.long
def test_killed_and_resumed_again_and_again_it_gives_the_same_bytes(best: str, tmp_path: Path) -> None:
    text, whole, out = (tmp_path / name for name in ("text", "whole", "out"))
    text.write_text("".join(f"der kleine Hund läuft {i}\n" for i in range(3000)), encoding="utf-8")
    form = ["--n-best", "3", "--beam", "3", "--resume"]
    assert back(best, text, whole, *form) == 0
    pairs = tmp_path / "out.pairs"
    for kill in range(1, 4):
        command = [best, "--input", str(text), "--output", str(out), *form, "--workers", "2"]
        process = subprocess.Popen([sys.executable, "-m", "nmt", "back-translate", *command])
        while not (pairs.exists() and pairs.stat().st_size > kill * 20_000):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        time.sleep(1)  # its workers end, too
    assert back(best, text, out, *form) == 0
    for language in ("de", "en"):
        assert lines_of(out, language) == lines_of(whole, language)


def test_every_option_runs(best: str, text: Path, tmp_path: Path) -> None:
    options = [
        ["--input", str(text), "--output", str(tmp_path / "all"), "--resume", "--workers", "1", "--n-best", "2"],
        ["--data-folder", str(tmp_path), "--max-length", "5", "--batch-size", "3"],
        ["--length-penalty", "0", "--precision", "float32", "--split", "--no-split"],
        ["--device", "cpu", "--threads", "1", "--temperature", "1", "--top-k", "4", "--seed", "2"],
        ["--top-p", "0.9"],
    ]
    if addons.offered("search_flags") is not None:
        options.append(["--min-length", "1", "--block-ngrams", "3", "--repetition-penalty", "1.1"])
        options.append(["--coverage-penalty", "0", "--diverse-groups", "1", "--diversity-strength", "0.5"])
    beam = ["--beam", "2"]
    assert all_named([*options, beam], back_translate.parser())
    words = ["back-translate", best, *(word for option in options for word in option)]
    assert main([*words, *beam]) == 2  # it is either a beam or sampling
    assert main(words) == 0
    assert 0 < len(lines_of(tmp_path / "all", "en")) <= 12


def test_bad_options(best: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = checkpoint_file.read(best)
    same["config"]["data"]["target"]["language"] = same["config"]["data"]["source"]["language"]
    checkpoint_file.write(tmp_path / "same.safetensors", same)
    for model, more, message in (
        (best, ["--seed", "3"], "add --temperature 1"),
        (best, ["--input", "missing"], "missing does not exist"),
        (best, ["--n-best", "9"], "n_best (9) must lie between 1 and"),
        (best, ["--output", "."], ". is a folder: give --output a name to begin with"),
        (str(tmp_path / "same.safetensors"), [], "to itself: give a model of two languages"),
    ):
        assert back(model, text, tmp_path / "out", *more) == 2
        assert message in error_of(capsys)
        assert not list(tmp_path.glob("out*"))
