"""Input that would hang, fill the memory or the screen, or end in a traceback: one line that says what is wrong."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.runs import ConfigMaker, finish

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.evaluation.alignment import read_links
from nmt.system.device import choose_device
from nmt.system.errors import CONTROLS, UserError
from nmt.text.corpus import LONGEST_LINE, read_lines
from nmt.text.tokenizers.spacy import SpacyTokenizer
from nmt.translator import Translator

CPU = torch.device("cpu")


def refusal(function: Callable[[], Any]) -> str:
    with pytest.raises(UserError) as caught:
        function()
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert len(message) <= 1000
    assert message.isprintable()
    return message


def test_pipes_and_devices_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They may never end, or never begin."""
    pipe = tmp_path / "pipe.safetensors"
    os.mkfifo(pipe)
    for read in (load_config, read_lines, read_links, lambda path: checkpoint.load(path, CPU)):
        for path in (pipe, Path("/dev/zero")):
            assert "it is not a regular file" in refusal(lambda read=read, path=path: read(path))
    for arguments in (["translate", str(pipe), "ba"], ["translate", "--input", str(pipe)], ["train", str(pipe)]):
        assert main(arguments) == 2
        assert "it is not a regular file" in capsys.readouterr().err


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "line.txt"
    with path.open("wb") as file:
        file.truncate(LONGEST_LINE + 2)
    assert "line 1: more than 16,777,216 bytes" in refusal(lambda: read_lines(path))


@pytest.mark.parametrize(
    "word", ["(" * 100_000, '"' * 100_000, "#" * 100_000, "'s" * 50_000, "http://" + "a" * 100_000]
)
def test_a_word_of_100000_characters_is_cut_into_tokens_at_once(word: str) -> None:
    """spaCy alone would take up to half an hour."""
    began = time.monotonic()
    tokenizer = SpacyTokenizer("en", lowercase=False)
    tokens = tokenizer.tokenize(f"before {word} after")
    assert tokenizer.detokenize(tokens) == f"before {word} after"
    assert time.monotonic() - began < 60
    assert (tokens[0], tokens[-1]) == ("before", "after")


def test_a_long_sentence_is_cut_before_it_is_tokenised(
    make_translator: Callable[..., tuple[Config, Translator]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, translator = make_translator()
    lengths = []
    real = type(translator.source.tokenizer).tokenize

    def tokenize(self: Any, text: str) -> list[str]:
        lengths.append(len(text))
        return real(self, text)

    monkeypatch.setattr(type(translator.source.tokenizer), "tokenize", tokenize)
    [translation] = translator.translate(["ba " * 100_000])
    assert max(lengths) == 10_000
    assert len(translation.source_tokens) == 501
    assert capsys.readouterr().err == f"cut off after 500 tokens (search.max_source_length): {'ba ' * 13}b …\n"
    translator.translate(["ba" * 50_000])  # one word
    assert capsys.readouterr().err == f"cut off after 1 token (search.max_source_length): {'ba' * 20} …\n"
    translator.translate(["ba" + 100_000 * " " + "ba"])
    assert capsys.readouterr().err == ""


def test_text_that_is_shown_while_training_does_not_steer_the_terminal(
    make_config: ConfigMaker, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus / "validation.tgt"
    path.write_text(path.read_text(encoding="utf-8").replace("\n", " \x1b[2J\u202e\n"), encoding="utf-8")
    finish(make_config("training.max_updates=1"))
    shown = "".join(capsys.readouterr())
    assert "\ufffd[2J\ufffd" in shown
    assert not CONTROLS.search(shown.replace("\n", ""))


DOUBLING = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 25))
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (DOUBLING, "its aliases (*name) stand for too many values"),
        (LAUGHS, "its aliases (*name) stand for too many values"),
        ("name: &a [*a]", "not valid YAML"),
        ("x" * 300_000, "characters are no config"),
        ("? '" + "x" * 90_000 + "'\n: 1", "unknown field"),
        ("name: 'x\\x1b[2J'", "name: "),
        (r'data: {folder: "\udfff"}', "data.folder: no path can be '\\udfff'; remove NUL"),
        (r'"\ud83d": 1', "unable to parse raw data as a unicode string (here: '\\ud83d')"),
        ("training: {seed: true}", "training.seed: input should be a number (here: True)"),
        ("search: {beam_size: false}", "search.beam_size: input should be a valid integer (here: False)"),
    ],
)
def test_hostile_configs_are_refused(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "hostile.yaml"
    path.write_text(text if "name" in text else f"{text}\n" + ("" if text[0] == "x" else "name: x\n"), encoding="utf-8")
    began = time.monotonic()
    assert error in refusal(lambda: load_config(path))
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("name", ["hpu", "meta", "xla", "cuda:99", "cpu:-5", "privateuseone", "", "x" * 5000])
def test_a_device_that_cannot_be_used_is_named(name: str) -> None:
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert "cannot be used here; choose auto or cpu" in refusal(lambda: choose_device(name))
