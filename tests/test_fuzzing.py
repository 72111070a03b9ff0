"""Whatever comes in, there is a result or one clear line: never a traceback, never a hang.

Each property gets a hundred inputs. `python -m pytest tests/test_fuzzing*.py --hypothesis-profile long` takes 5,000.
"""

import io
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fuzzing import SCALARS, TEXT, one_line
from support.texts import data_config

from nmt.build import build_model
from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main
from nmt.config.run import Config, DataConfig
from nmt.data.training_set import load_training_set
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.training import event_log, loop
from nmt.training.interruption import StopSignals
from nmt.training.run import run
from nmt.training.update import update
from nmt.translator import Translator

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzzing")


# Checkpoints

KINDS = ("spacy", "sentencepiece", "whitespace", "char")


@pytest.fixture(scope="module")
def translators(place: Path) -> dict[str, Translator]:
    """Tiny untrained models, one for each kind of tokens."""
    text = ParallelText(["ba de fi go hu", "DE fi. ja"] * 3, ["kip lom mun", "nar Pes. rit"] * 3)
    return {kind: make_translator(kind, place, text) for kind in KINDS}


def make_config(name: str, data: DataConfig, **more: Any) -> Config:
    values = {
        "name": name,
        "data": data.model_dump(),
        "model": {"embedding_size": 4, "encoder": {"hidden_size": 3}, "decoder": {"hidden_size": 5}},
        "search": {"beam_size": 2, "max_length": 6, "max_source_length": 12},
    }
    return Config.model_validate(values | more)


def make_translator(kind: str, place: Path, text: ParallelText) -> Translator:
    data = data_config(place, text, kind, 18 if kind == "sentencepiece" else None)
    config = make_config(kind, data)
    pairs = load_training_set(config.data)
    torch.manual_seed(1)
    model = build_model(config.model, len(pairs.source.vocabulary), len(pairs.target.vocabulary))
    checkpoint.save(place / f"{kind}.pt", config, pairs.source, pairs.target, model)
    return Translator.load(place / f"{kind}.pt", device="cpu")


def places(contents: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in nested dictionaries and lists."""
    if path:
        yield path
    for key, value in (
        contents.items() if isinstance(contents, dict) else enumerate(contents) if isinstance(contents, list) else ()
    ):
        yield from places(value, (*path, key))


SHAPES = st.lists(st.integers(0, 7), max_size=3)
PLANTED = st.one_of(
    SCALARS,
    st.lists(st.text(max_size=3), max_size=3),
    SHAPES.map(torch.zeros),
    SHAPES.map(lambda shape: torch.zeros(shape, dtype=torch.uint8)),
    st.just({}),
    st.sampled_from(
        [
            torch.zeros(()).expand(10**6, 10**6),
            torch.zeros(4, dtype=torch.float8_e4m3fn),
            torch.tensor(-1.0),
            torch.full((4,), 1e300, dtype=torch.float64),
            *(-1, 2**70, 10**400, 1e308, "\ud83d", "en.stop_words", "lex_attrs", "a\nb", "x" * 10**5),
        ]
    ),
)


def plant(good: Path, path: Path, data: st.DataObject) -> None:
    """Write a checkpoint to `path` that has something else, or nothing, in one place, and a checksum that is right."""
    contents = checkpoint_file.read(good)
    *parents, last = data.draw(st.sampled_from(list(places(contents))))
    holder = contents
    for key in parents:
        holder = holder[key]
    if isinstance(holder, dict) and data.draw(st.booleans()):
        del holder[last]
    else:
        holder[last] = data.draw(PLANTED)
    checkpoint_file.write(path, contents)


@given(data=st.data())
@pytest.mark.usefixtures("translators")
def test_any_value_anywhere_in_a_checkpoint(place: Path, data: st.DataObject) -> None:
    path = place / "planted.pt"
    plant(place / f"{data.draw(st.sampled_from(KINDS))}.pt", path, data)
    one_line(lambda: checkpoint.load(path, CPU), path)


@pytest.fixture(scope="module")
def stopped(place: Path) -> Config:
    """A run of three updates that has made two."""
    text = ParallelText(["ba de fi go hu", "DE fi. ja"] * 3, ["kip lom mun", "nar Pes. rit"] * 3)
    training = {"max_updates": 3, "batch_size": 3, "checkpoint_every": 1, "moving_average": 0.9, "threads": 1}
    config = make_config("stopped", data_config(place, text, "whitespace"), output_dir=str(place), training=training)
    stop = StopSignals()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        patch.setattr(event_log, "_summary_writer", lambda *_: None)
        patch.setattr(loop, "update", lambda *given: setattr(stop, "requested", given[4] == 1) or update(*given))
        run(config, stop, resume=False)
    return config


@given(data=st.data())
@settings(max_examples=settings().max_examples // 10)
def test_any_value_anywhere_in_a_checkpoint_that_is_resumed(place: Path, stopped: Config, data: st.DataObject) -> None:
    folder = place / stopped.name
    config = stopped.model_copy(update={"output_dir": str(place / "resumed")})
    resumed = Path(config.output_dir) / config.name
    shutil.rmtree(resumed, ignore_errors=True)
    resumed.mkdir(parents=True)
    plant(folder / "last.pt", resumed / "last.pt", data)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        one_line(lambda: run(config, StopSignals(), resume=True), resumed, "training.learning_rate")


@given(data=st.data())
@pytest.mark.usefixtures("translators")
def test_any_bytes_of_a_checkpoint_changed(place: Path, data: st.DataObject) -> None:
    whole = (place / "char.pt").read_bytes()
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    changed = whole[:begin] + data.draw(st.binary(max_size=30)) + whole[end:]
    path = place / "changed.pt"
    path.write_bytes(changed)
    assert changed == whole or one_line(lambda: checkpoint.load(path, CPU), path) is None


# Translation


@given(
    sentences=st.lists(TEXT, max_size=3), n_best=st.integers(1, 2), attention=st.booleans(), replace_unk=st.booleans()
)
@settings(max_examples=settings().max_examples // 3)
def test_any_text_is_translated_line_by_line(
    translators: dict[str, Translator], sentences: list[str], n_best: int, attention: bool, replace_unk: bool
) -> None:
    for translator in translators.values():
        with redirect_stderr(io.StringIO()) as said:
            translations = translator.translate(sentences, n_best=n_best, attention=attention, replace_unk=replace_unk)
        assert len(translations) == len(sentences)
        cut = [len(translator.source.tokenizer.tokenize(sentence)) > 12 for sentence in sentences]
        assert said.getvalue().count("cut off after 12 of ") == sum(cut)
        for translation in translations:
            assert "\n" not in translation.text
            if attention:
                shape = len(translation.tokens), len(translation.source_tokens)
                assert translation.attention is not None
                assert tuple(translation.attention.shape) == shape


@given(sentences=st.lists(TEXT, min_size=1, max_size=4))
@settings(max_examples=settings().max_examples // 4)
@pytest.mark.parametrize("form", [[], ["--json"], ["--n-best", "2"]])
@pytest.mark.usefixtures("translators")
def test_any_text_at_standard_input(place: Path, sentences: list[str], form: list[str]) -> None:
    (place / "input").write_bytes("".join(f"{sentence}\n" for sentence in sentences).encode())
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        (place / "input").open(encoding="utf-8") as stdin,
        patch.object(sys, "stdin", stdin),
        redirect_stdout(out),
        redirect_stderr(io.TextIOWrapper(io.BytesIO())),
    ):
        assert main(["translate", str(place / "spacy.pt"), *form]) == 0
    out.flush()
    written = out.buffer.getvalue().decode()
    assert written.endswith("\n")
    lines = written[:-1].split("\n")
    if form == ["--n-best", "2"]:
        assert {line.split(" ||| ")[0] for line in lines} == {str(i) for i in range(len(sentences))}
    else:
        assert len(lines) == len(sentences)
    if form == ["--json"]:
        assert all("text" in json.loads(line) for line in lines)


@pytest.mark.parametrize(
    "sentence", [" " * 1_000_000, "ba " * 10_000, "ba" * 50_000, "👩🏽" * 10_000, "\u0301" * 10_000, "." * 10_000]
)
def test_huge_sentences(translators: dict[str, Translator], sentence: str) -> None:
    for translator in translators.values():
        with redirect_stderr(io.StringIO()) as said:
            [translation] = translator.translate([sentence])
        assert "\n" not in translation.text
        assert len(translation.source_tokens) <= 13
        assert ("cut off after 12 of " in said.getvalue()) is (len(translation.source_tokens) == 13)


def test_text_that_is_no_unicode_is_refused(translators: dict[str, Translator]) -> None:
    for translator in translators.values():
        with pytest.raises(UserError, match="sentence 2 is not valid Unicode text: convert it to UTF-8"):
            translator.translate(["ba", "a\udcff"])
