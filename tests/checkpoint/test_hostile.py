"""Checkpoints with a right checksum, made to bring the program down: each is refused with one line, at once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.checkpoint_bytes import header_and_data, joined, with_right_checksum
from support.runs import ConfigMaker, finish

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.config.run import Config
from nmt.data.shortlist import Shortlist
from nmt.system.errors import UserError
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
CPU = torch.device("cpu")
SOURCE_TYPES = 12
BIAS, EMBEDDING = "decoder.output.bias", "decoder.embedding.weight"


@pytest.fixture
def contents(tmp_path: Path, make_translator: Maker) -> dict[str, Any]:
    config, translator = make_translator()
    path = tmp_path / "good.safetensors"
    selection = Shortlist(torch.zeros(SOURCE_TYPES, 2, dtype=torch.int16), torch.zeros(3, dtype=torch.int16))
    checkpoint.save(path, config, translator.source, translator.target, translator.model, selection=selection)
    return checkpoint_file.read(path)


@pytest.mark.parametrize(
    ("group", "key", "make", "said"),
    [
        ("model", BIAS, lambda: torch.zeros(12, dtype=torch.float8_e4m3fn), "is torch.float8_e4m3fn of shape (12,)"),
        ("model", BIAS, lambda: torch.zeros(12, dtype=torch.complex64), "is torch.complex64 of shape (12,)"),
        ("model", BIAS, lambda: torch.full((12,), 1e300, dtype=torch.float64), "holds a value that is not finite"),
        ("source", "subword_model", lambda: torch.zeros(2, 2, dtype=torch.uint8), "shape (2, 2), not bytes"),
        ("source", "subword_model", lambda: torch.zeros(4), "torch.float32 of shape (4,), not bytes"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", "\ud83d"], "cannot be a token"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", ""], "'' cannot be a token"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", "a\nb"], r"'a\nb' cannot be a token"),
        ("selection", "frequent", lambda: torch.zeros(3), "selection.frequent is real numbers of shape (3,), which"),
        ("selection", "frequent", lambda: torch.zeros(3, dtype=torch.int64), "selection.frequent is torch.int64"),
        ("selection", "frequent", lambda: torch.zeros((), dtype=torch.int16), "selection.frequent is torch.int16 of s"),
        ("selection", "frequent", lambda: torch.full((1,), 12, dtype=torch.int16), "frequent holds an id that no"),
        ("selection", "likeliest", lambda: torch.full((12, 1), -1, dtype=torch.int16), "likeliest holds an id that no"),
        ("selection", "likeliest", lambda: torch.zeros(11, 2, dtype=torch.int16), "selection.likeliest is torch.int16"),
        ("selection", "likeliest", lambda: torch.zeros(12, dtype=torch.int16), "selection.likeliest is torch.int16"),
        ("selection", "likeliest", lambda: None, "selection.likeliest: "),
        ("config", "name", lambda: torch.zeros(3), "name: a value of the kind Tensor is no setting"),
        ("config", "name", lambda: "x" * 10**6, "name: "),
    ],
)
def test_a_value_that_would_crash_is_refused(
    tmp_path: Path, contents: dict[str, Any], group: str, key: str, make: Callable[[], Any], said: str
) -> None:
    contents[group][key] = make()
    checkpoint_file.write(tmp_path / "hostile.safetensors", contents)
    assert said in refusal(tmp_path / "hostile.safetensors")


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        checkpoint.load(path, CPU)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message) <= 1000
    assert len(message.splitlines()) == 1
    return message


def entry(**fields: Any) -> Callable[[dict[str, Any]], object]:
    """A change of a header: other fields of the output layer's bias."""
    return lambda header: header[f"model.{BIAS}"].update(fields)


def document(text: Callable[[str], str]) -> Callable[[dict[str, Any]], object]:
    """A change of a header: other text in the place of the JSON in its metadata."""
    return lambda header: header["__metadata__"].update(nmt=text(header["__metadata__"]["nmt"]))


def shared(names: Any) -> Callable[[dict[str, Any]], object]:
    return document(lambda text: text.replace('"shared": {}', f'"shared": {json.dumps(names)}'))


HEADERS: list[Callable[[dict[str, Any]], object]] = [
    entry(shape=[10**9]),
    entry(shape=[2**62, 2**62]),
    entry(shape=[0, 2**62]),
    entry(shape=[-12]),
    entry(shape="x"),
    entry(shape=[1] * 1000 + [12]),
    entry(data_offsets=[0, 2**60]),
    entry(data_offsets=[2**60, 2**60 + 48]),
    entry(data_offsets=[48, 0]),
    entry(data_offsets=[8, 56]),  # overlaps another tensor
    entry(dtype="F128"),
    entry(dtype="F64"),
    entry(dtype="F4"),
    lambda header: header.pop(f"model.{BIAS}"),  # leaves bytes that belong to no tensor
    lambda header: header.update(more=header[f"model.{BIAS}"]),  # two tensors of the same bytes
    lambda header: header["__metadata__"].update(more=7),
    document(lambda text: text[:-1]),
    document(lambda text: text + "x"),
    document(lambda text: text[:78] + ', "contents": ' + "[" * 10**6),
    document(lambda text: text[:78] + "}"),
    document(lambda text: text.replace('"format": 4', '"format": ' + "9" * 5000)),
    document(lambda text: text[:78] + ', "shared": {}, "contents": [1]}'),
    document(lambda text: text[:78] + ', "shared": {}, "contents": null}'),
    shared({"model.more": "model.none"}),
    shared({"model.more": ["x"]}),
    shared([1]),
    shared(None),
    shared({f"model.more{i}": f"model.{BIAS}" for i in range(10**4)}),
    shared({"config": f"model.{BIAS}"}),
    shared({"": f"model.{BIAS}"}),
    shared({"." * 10**4: f"model.{BIAS}"}),
    shared({"config.model.encoder": f"model.{BIAS}"}),
]


@pytest.mark.parametrize("number", range(len(HEADERS)))
def test_a_hostile_header_is_refused(tmp_path: Path, contents: dict[str, Any], number: int) -> None:
    path = tmp_path / "hostile.safetensors"
    checkpoint_file.write(path, contents)
    header, data = header_and_data(path)
    checkpoint.load(path, CPU)
    HEADERS[number](header)
    path.write_bytes(joined(header, data))
    assert "its checksum is wrong" not in refusal(path)


@pytest.mark.parametrize("length", [0, 2**63, 2**64 - 1])
def test_a_header_of_another_length_is_refused(tmp_path: Path, contents: dict[str, Any], length: int) -> None:
    path = tmp_path / "hostile.safetensors"
    checkpoint_file.write(path, contents)
    path.write_bytes(with_right_checksum(length.to_bytes(8, "little") + path.read_bytes()[8:]))
    refusal(path)


STATES: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda t: t["optimizer"].update({"0.exp_avg": torch.zeros(12, 7)}), "optimizer: 0.exp_avg is real numbers of sha"),
    (lambda t: t["optimizer"].update({"x.exp_avg": torch.zeros(12, 6)}), "x.exp_avg is real numbers of shape (12, 6)"),
    (lambda t: t["optimizer"].pop("0.step"), "optimizer: 0.step is nothing, but real numbers of shape () is needed"),
    (lambda t: t["optimizer"]["0.exp_avg_sq"].fill_(-1.0), "0.exp_avg_sq is negative"),
    (lambda t: t["optimizer"]["0.step"].fill_(-1.0), "0.step is negative"),
    (lambda t: t["optimizer"].update({"0.exp_avg": t["optimizer"]["0.exp_avg"].double() + 1e300}), "is not finite"),
    (lambda t: t.update(optimizer=None), "optimizer: "),
    (lambda t: t.update(average=7), "average: "),
    (lambda t: t["state"].update(epoch=-1), "training.state.epoch cannot be -1"),
    (lambda t: t["state"].update(update=10**400), "training.state.update cannot be 1000"),
    (lambda t: t["state"].update(validated=10**6), "training.state.validated is above update"),
    (lambda t: t["state"].update(batch=10**6), "training.state.batch is 1000000, of 8 in an epoch"),
    (lambda t: t["state"].update(nll=float("nan")), "training.state.nll cannot be nan"),
    (lambda t: t.update(metrics_size=-1), "metrics_size: "),
    (lambda t: t.update(random=t["random"].float()), "random generator cannot be used"),
    (lambda t: t.update(random=t["random"][:, :-8]), "random generator cannot be used"),
    (lambda t: t.update(random=t["random"][0, 0]), "trained by 0 processes"),
    (lambda t: t.update(random=None), "random: "),
]


def test_a_hostile_state_of_training_is_refused(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=2", "training.checkpoint_every=1")
    folder = finish(config)
    (folder / "previous.safetensors").unlink()
    whole = (folder / "last.safetensors").read_bytes()
    for alter, said in STATES:
        (folder / "last.safetensors").write_bytes(whole)
        contents = checkpoint_file.read(folder / "last.safetensors")
        alter(contents["training"])
        checkpoint_file.write(folder / "last.safetensors", contents)
        with pytest.raises(UserError) as caught:
            finish(config, resume=True)
        assert said in str(caught.value)
        assert str(caught.value).startswith(str(folder / "last.safetensors"))


@pytest.mark.parametrize("language", ["lex_attrs", "punctuation", "en.stop_words", "__init__", "../en", "os"])
def test_a_module_that_is_not_a_language_is_refused(tmp_path: Path, contents: dict[str, Any], language: str) -> None:
    contents["config"]["data"]["source"] |= {"tokenizer": "spacy", "language": language}
    said = "not a language code" if language == "../en" else "spaCy has no tokenizer rules for"
    checkpoint_file.write(tmp_path / "hostile.safetensors", contents)
    assert f"language: {said}" in refusal(tmp_path / "hostile.safetensors")
