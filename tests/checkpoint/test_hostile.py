"""Checkpoints with a right checksum, made to bring the program down: each is refused with one line, at once."""

import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.checkpoint_bytes import header_and_data, joined, with_right_checksum
from support.checkpoints import PLANTED, Alter, Saver, altered, plant, refusal
from support.runs import ConfigMaker, finish

from nmt.cli import main
from nmt.system.errors import CONTROLS, UserError

BIAS, EMBEDDING = "decoder.output.bias", "decoder.embedding.weight"


@pytest.fixture
def good(save: Saver) -> Path:
    return save("good")


@pytest.mark.parametrize(
    ("group", "key", "make", "error"),
    [
        ("model", BIAS, lambda: torch.zeros(12, dtype=torch.float8_e4m3fn), "is torch.float8_e4m3fn of shape (12,)"),
        ("model", BIAS, lambda: torch.full((12,), 1e300, dtype=torch.float64), "holds a value that is not finite"),
        ("source", "subword_model", lambda: torch.zeros(2, 2, dtype=torch.uint8), "shape (2, 2), not bytes"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", "\ud83d"], "cannot be a token"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", "a\nb"], r"'a\nb' cannot be a token"),
        ("config", "name", lambda: torch.zeros(3), "name: text is expected (here: tensor("),
        ("config", "name", lambda: "x" * 10**6, "name: "),
    ],
)
def test_a_value_that_would_crash_is_refused(
    good: Path, group: str, key: str, make: Callable[[], Any], error: str
) -> None:
    assert error in refusal(altered(good, lambda contents: contents[group].update({key: make()})))


def entry(**fields: Any) -> Alter:
    """A change of a header: other fields of the output layer's bias."""
    return lambda header: header[f"model.{BIAS}"].update(fields)


def document(text: Callable[[str], str]) -> Alter:
    """A change of a header: other text in the place of the JSON in its metadata."""
    return lambda header: header["__metadata__"].update(nmt=text(header["__metadata__"]["nmt"]))


def shared(names: Any) -> Alter:
    return document(lambda text: text.replace('"shared": {}', f'"shared": {json.dumps(names)}'))


HEADERS: list[Alter] = [
    entry(shape=[10**9]),
    entry(shape=[2**62, 2**62]),
    entry(data_offsets=[8, 56]),  # overlaps another tensor
    entry(dtype="F128"),
    lambda header: header.pop(f"model.{BIAS}"),  # leaves bytes that belong to no tensor
    lambda header: header.update(more=header[f"model.{BIAS}"]),  # two tensors of the same bytes
    document(lambda text: text[:78] + ', "contents": ' + "[" * 10**6),
    document(lambda text: text[:78] + ', "shared": {}, "contents": [1]}'),
    shared({f"model.more{i}": f"model.{BIAS}" for i in range(10**4)}),
    shared({"config": f"model.{BIAS}"}),
    shared({"config.model.encoder": f"model.{BIAS}"}),
]


def test_a_hostile_header_is_refused(good: Path) -> None:
    whole = good.read_bytes()
    for alter in HEADERS:
        good.write_bytes(whole)
        header, data = header_and_data(good)
        alter(header)
        good.write_bytes(joined(header, data))
        assert "its checksum is wrong" not in refusal(good), header
    for length in (0, 2**63, 2**64 - 1):
        good.write_bytes(with_right_checksum(length.to_bytes(8, "little") + whole[8:]))
        refusal(good)


STATES: list[tuple[Alter, str]] = [
    (lambda t: t["optimizer"].update({"x.exp_avg": torch.zeros(12, 6)}), "x.exp_avg is real numbers of shape (12, 6)"),
    (lambda t: t.update(optimizer=None), "optimizer: "),
    (lambda t: t.update(average={"x": torch.zeros(3)}), "average: x is real numbers of shape"),
    (lambda t: t.update(more=1), "more: "),
    (lambda t: t["state"].update(update=10**400), "state.update: input should be"),
    (lambda t: t["state"].update(batch=10**6), "training.state.batch is 1000000, of 8 in an epoch"),
    (lambda t: t.update(random=t["random"].float()), "random generator cannot be used"),
    (lambda t: t.update(random=t["random"][0, 0]), "trained by 0 process(es)"),
    (lambda t: t.update(random=t["random"].repeat(2, 1)), "trained by 2 process(es): resume with as many, not 1"),
]


def test_a_hostile_state_of_training_is_refused(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=2", "training.checkpoint_every=1")
    folder = finish(config)
    (folder / "previous.safetensors").unlink()
    whole = (folder / "last.safetensors").read_bytes()
    for alter, error in STATES:
        (folder / "last.safetensors").write_bytes(whole)
        altered(folder / "last.safetensors", lambda contents, alter=alter: alter(contents["training"]))
        with pytest.raises(UserError) as caught:
            finish(config, resume=True)
        assert error in str(caught.value)
        assert str(caught.value).startswith(str(folder / "last.safetensors"))


EXPENSIVE: dict[str, Alter] = {
    "tensors": lambda contents: contents["model"].update({f"x{i}": torch.zeros(0) for i in range(10**4)}),
    "fields": lambda contents: contents["config"].update({f"trainin{i}": i for i in range(10**4)}),
    "fields of the model": lambda contents: contents["config"]["model"].update({f"encode{i}": 1 for i in range(10**4)}),
    "lists": lambda contents: contents["config"]["evaluation"].update(length_edges=[*range(10**5, 0, -1)]),
    "items": lambda contents: contents["target"].update(tokens=[{}] * 10**5),
    "search": lambda contents: contents["config"]["search"].update(max_length=10**9),
    "layers": lambda contents: contents["config"]["model"]["encoder"].update(layers=10**9),
    "weights": lambda contents: contents["model"].update({BIAS: torch.full((12,), 3e38)}),
}


@pytest.mark.parametrize("kind", EXPENSIVE)
def test_a_small_file_costs_little(good: Path, kind: str) -> None:
    altered(good, EXPENSIVE[kind])
    tracemalloc.start()
    begun = time.process_time()
    refusal(good)
    seconds, (_, peak) = time.process_time() - begun, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 5
    assert peak < 2**25 + 60 * good.stat().st_size


def test_nothing_planted_reaches_a_terminal(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters that steer it, or turn the direction of text."""
    altered(good, plant)
    for more in ([], ["--n-best", "2"], ["--json"]):
        assert main(["translate", str(good), "ka", PLANTED, *more, "--max-length", "4"]) == 0
        shown = "".join(capsys.readouterr())
        assert "]0;x2J" in shown.replace("\\u0007\\u009b", "")
        assert not CONTROLS.search(shown.replace("\n", ""))


@pytest.mark.parametrize("language", ["lex_attrs", "en.stop_words", "__init__", "../en", "os"])
def test_a_module_that_is_not_a_language_is_refused(good: Path, language: str) -> None:
    error = "not a language code" if language == "../en" else "spaCy has no tokenizer rules for"
    values = {"tokenizer": "spacy", "language": language}
    altered(good, lambda contents: contents["config"]["data"]["source"].update(values))
    assert f"language: {error}" in refusal(good)
