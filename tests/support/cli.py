"""A tiny corpus for the command line, and how it is called."""

import sys
from pathlib import Path

import pytest
import yaml

from nmt.checkpoint import file as checkpoint_file
from nmt.commands.options import Parser

ROOT = Path(__file__).parents[2]
SOURCES = ["der Hund läuft", "die Katze schläft", "der Hund schläft", "die Katze läuft", "der kleine Hund läuft weg"]
LINKS = ["0-0 1-1 2-2"] * 4 + ["0-0 1-1 2-2 3-3 4?4"]
TARGETS = ["the dog runs", "the cat sleeps", "the dog sleeps", "the cat runs", "the small dog runs away"]


def write_corpus(folder: Path) -> dict:
    """A tiny corpus of files; returns a config for it, whose run takes a second."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending, lines in (("de", SOURCES), ("en", TARGETS), ("align", LINKS)):
        (folder / f"text.{ending}").write_text("".join(line + "\n" for line in lines * 4), encoding="utf-8")
    sides = {}
    for side, language in (("source", "de"), ("target", "en")):
        splits = dict.fromkeys(("train", "validation", "test"), str(folder / f"text.{language}"))
        sides[side] = {"language": language, "tokenizer": "whitespace", "lowercase": False, **splits}
    training = {"max_epochs": 1, "batch_size": 4, "log_every": 2, "learning_rate": 0.01, "threads": 1, "device": "cpu"}
    return {
        "name": "tiny",
        "output_dir": str(folder / "runs"),
        "data": {"corpus": "files", "folder": str(folder / "data"), **sides},
        "model": {
            "embedding_size": 8,
            "embedding_dropout": 0.0,
            "encoder": {"hidden_size": 8, "dropout": 0.0},
            "decoder": {"hidden_size": 16, "dropout": 0.0},
        },
        "training": training,
        "search": {"beam_size": 3, "max_length": 12},
    }


def write_config(folder: Path, **changes: object) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(write_corpus(folder) | changes), encoding="utf-8")
    return path


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "scripts" / f"{arguments[0]}.py"), *arguments[1:]]


def all_named(options: list[list[str]], parser: Parser) -> bool:
    """Whether the options of a test are all that the command has."""
    there = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    there -= {"--beam-size"}  # another name of --beam
    return {word for option in options for word in option if word.startswith("--")} == there - {"--help"}


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error; fails if there is more, or anything on standard output."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def with_another_target_word(path: Path, copy: Path) -> Path:
    """A copy of a checkpoint whose vocabulary is another."""
    contents = checkpoint_file.read(path)
    contents["target"]["tokens"][-1] = "other"
    checkpoint_file.write(copy, contents)
    return copy
