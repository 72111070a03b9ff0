"""Checkpoints with a right checksum, made to bring the program down: each is refused with one line, at once."""

import io
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.runs import ConfigMaker, finish

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.checkpoint.unpickling import unpickle
from nmt.config.run import Config
from nmt.selection.lexical import Selection
from nmt.system.errors import UserError
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
CPU = torch.device("cpu")
SOURCE_TYPES = 12
BIAS, EMBEDDING = "decoder.output.bias", "decoder.embedding.weight"


@pytest.fixture
def contents(tmp_path: Path, make_translator: Maker) -> dict[str, Any]:
    config, translator = make_translator()
    path = tmp_path / "good.pt"
    selection = Selection(torch.zeros(SOURCE_TYPES, 2, dtype=torch.int16), torch.zeros(3, dtype=torch.int16))
    checkpoint.save(path, config, translator.source, translator.target, translator.model, selection=selection)
    return checkpoint_file.read(path)


def repeated(depth: int) -> list[Any]:
    """A list of ten times the same list of ten times the same list …: few bytes, 10^depth values."""
    value: list[Any] = ["x"]
    for _ in range(depth):
        value = [value] * 10
    return value


def inside_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize(
    ("part", "key", "make", "said"),
    [
        ("model", BIAS, lambda: torch.zeros(()).expand(12), "a tensor that is larger than its storage"),
        ("model", EMBEDDING, lambda: torch.zeros(()).expand(10**6, 10**6), "a tensor that is larger than its storage"),
        ("model", EMBEDDING, lambda: torch.arange(20.0).as_strided((12, 6), (1, 1)), "larger than its storage"),
        ("model", EMBEDDING, lambda: torch.arange(200.0).as_strided((12, 6), (12, 2)), "a tensor that is not dense"),
        ("model", BIAS, lambda: torch.zeros(12, dtype=torch.float8_e4m3fn), "is not allowed"),
        ("model", BIAS, lambda: torch.zeros(12, device="meta"), "is not allowed"),
        ("model", BIAS, lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "is not allowed"),
        ("model", BIAS, lambda: torch.zeros(12).to_sparse(), "is not allowed"),
        ("model", BIAS, lambda: torch.nn.Parameter(torch.zeros(12)), "is not allowed"),
        ("model", BIAS, lambda: torch.zeros(12, dtype=torch.complex64), "is not allowed"),
        ("model", BIAS, lambda: torch.full((12,), 1e300, dtype=torch.float64), "holds a value that is not finite"),
        ("model", BIAS, lambda: torch.float32, "is not allowed"),
        ("source", "subword_model", lambda: torch.zeros((), dtype=torch.uint8).expand(10**9), "larger than its stor"),
        ("source", "subword_model", lambda: torch.zeros(2, 2, dtype=torch.uint8), "shape (2, 2), not bytes"),
        ("source", "subword_model", lambda: torch.zeros(4), "torch.float32 of shape (4,), not bytes"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", "\ud83d"], "cannot be a token"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", ""], "'' cannot be a token"),
        ("target", "tokens", lambda: ["<unk>", "<pad>", "<bos>", "<eos>", "a\nb"], r"'a\nb' cannot be a token"),
        ("target", "tokens", lambda: repeated(9), "it repeats its values without end"),
        ("target", "tokens", inside_itself, "deep in others"),
        ("selection", "frequent", lambda: torch.zeros(3), "selection.frequent is real numbers of shape (3,), which"),
        ("selection", "frequent", lambda: torch.zeros(3, dtype=torch.int64), "selection.frequent is torch.int64"),
        ("selection", "frequent", lambda: torch.zeros((), dtype=torch.int16), "selection.frequent is torch.int16 of s"),
        (
            "selection",
            "frequent",
            lambda: torch.full((1,), 12, dtype=torch.int16),
            "frequent holds a number that is no",
        ),
        ("selection", "likeliest", lambda: torch.full((12, 1), -1, dtype=torch.int16), "likeliest holds a number that"),
        ("selection", "likeliest", lambda: torch.zeros(11, 2, dtype=torch.int16), "selection.likeliest is torch.int16"),
        (
            "selection",
            "likeliest",
            lambda: torch.zeros((), dtype=torch.int16).expand(12, 10**9),
            "larger than its stor",
        ),
        ("selection", "likeliest", lambda: None, "selection.likeliest: "),
        ("config", "name", lambda: 10**5000, "not an nmt checkpoint"),
        ("config", "name", lambda: "x" * 10**6, "name: "),
    ],
)
def test_a_value_that_would_crash_is_refused(
    tmp_path: Path, contents: dict[str, Any], part: str, key: str, make: Callable[[], Any], said: str
) -> None:
    contents[part][key] = make()
    message = refusal(tmp_path, contents)
    assert said in message


def refusal(folder: Path, contents: dict[str, Any]) -> str:
    path = folder / "hostile.pt"
    checkpoint_file.write(path, contents)
    with pytest.raises(UserError) as caught:
        checkpoint.load(path, CPU)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message) <= 1000
    assert len(message.splitlines()) == 1
    return message


def archive(value: Any, change: Callable[[str, bytes], bytes], compression: int = zipfile.ZIP_STORED) -> memoryview:
    """An archive of `torch.save`, its parts changed."""
    buffer, changed = io.BytesIO(), io.BytesIO()
    torch.save(value, buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(changed, "w", compression) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return changed.getbuffer()


def test_a_storage_has_only_what_the_file_has() -> None:
    """The pickle says how many numbers there are, and PyTorch's own reader would read so many, past the end."""
    kept = archive(torch.zeros(100), lambda _, content: content)
    assert torch.equal(unpickle(kept), torch.zeros(100))
    cut = archive(torch.zeros(100), lambda name, content: content[:8] if "/data/" in name else content)
    with pytest.raises(Exception, match="larger than its storage"):
        unpickle(cut)


def test_a_compressed_archive_is_refused() -> None:
    """A million zeros in a thousand bytes, or a thousand times as many."""
    with pytest.raises(ValueError, match="it is compressed"):
        unpickle(archive(torch.zeros(10**6), lambda _, content: content, zipfile.ZIP_DEFLATED))


@pytest.mark.parametrize(
    "instructions",
    [
        b"\x80\x02r\xff\xff\xff\xff.",  # remember the nothing before it under the largest number there is
        b"\x80\x02cbuiltins\neval\n.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.",  # the function itself
        b"\x80\x02}}b.",  # set attributes
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x0f.",  # bytes, more than there are
        b"",
        b".",
    ],
)
def test_instructions_that_are_never_written_are_refused(instructions: bytes) -> None:
    hostile = archive({}, lambda name, content: instructions if name.endswith("data.pkl") else content)
    with pytest.raises(Exception, match=r".*") as caught:
        unpickle(hostile)
    assert not isinstance(caught.value, MemoryError)


def test_what_is_plain_and_dense_is_read_as_torch_reads_it() -> None:
    whole = torch.arange(24.0).view(4, 6)
    value = {
        "numbers": [1, -1, 2**62, True, None, 1.5, "text", (), (1,), (1, 2, 3, 4)],
        "ordered": dict(OrderedDict(a=1)),
        "permuted": whole.t(),
        "part": whole[1:3],
        "shared": [whole, whole.view(-1)],
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(7),
        **{str(dtype): torch.ones(3, dtype=dtype) for dtype in (torch.bfloat16, torch.float16, torch.uint8)},
    }
    buffer = io.BytesIO()
    torch.save(value, buffer)
    read = unpickle(buffer.getbuffer())
    assert read["numbers"] == value["numbers"]
    assert read["ordered"] == value["ordered"]
    for name in ("permuted", "part", "empty", "scalar", "torch.bfloat16", "torch.float16", "torch.uint8"):
        assert torch.equal(read[name], value[name])
        assert read[name].dtype == value[name].dtype
        assert read[name].stride() == value[name].stride()
        assert read[name].data_ptr() % 64 == read[name].storage_offset() * read[name].element_size() % 64
    one, other = read["shared"]
    assert one.data_ptr() == other.data_ptr()
    np.testing.assert_array_equal(one.flatten(), other)


STATES: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda t: t["optimizer"][0].update(exp_avg=torch.zeros(()).expand(12, 6)), "larger than its storage"),
    (lambda t: t["optimizer"][0].update(exp_avg_sq=torch.zeros(()).expand(12, 6)), "larger than its storage"),
    (lambda t: t["optimizer"][0]["exp_avg_sq"].fill_(-1.0), "exp_avg_sq of parameter 0 is negative"),
    (lambda t: t["optimizer"][0]["step"].fill_(-1.0), "step of parameter 0 is negative"),
    (lambda t: t["optimizer"][0].update(exp_avg=t["optimizer"][0]["exp_avg"].double() + 1e300), "is not finite"),
    (lambda t: t["state"].update(epoch=-1), "training.state.epoch cannot be -1"),
    (lambda t: t["state"].update(update=10**400), "training.state.update cannot be 1000"),
    (lambda t: t["state"].update(validated=10**6), "training.state.validated is above update"),
    (lambda t: t["state"].update(batch=10**6), "training.state.batch is 1000000, of 8 in an epoch"),
    (lambda t: t["state"].update(nll=float("nan")), "training.state.nll cannot be nan"),
    (lambda t: t.update(metrics_size=-1), "metrics_size: "),
    (lambda t: t.update(random=[t["random"][0].float()]), "random generator cannot be used"),
    (lambda t: t.update(random=[t["random"][0][:-8]]), "random generator cannot be used"),
]


def test_a_hostile_state_of_training_is_refused(make_config: ConfigMaker) -> None:
    config = make_config("training.max_updates=2", "training.checkpoint_every=1")
    folder = finish(config)
    (folder / "previous.pt").unlink()
    whole = (folder / "last.pt").read_bytes()
    for alter, said in STATES:
        (folder / "last.pt").write_bytes(whole)
        contents = checkpoint_file.read(folder / "last.pt")
        alter(contents["training"])
        checkpoint_file.write(folder / "last.pt", contents)
        with pytest.raises(UserError) as caught:
            finish(config, resume=True)
        assert said in str(caught.value)
        assert str(caught.value).startswith(str(folder / "last.pt"))


@pytest.mark.parametrize("language", ["lex_attrs", "punctuation", "en.stop_words", "__init__", "../en", "os"])
def test_a_module_that_is_not_a_language_is_refused(tmp_path: Path, contents: dict[str, Any], language: str) -> None:
    contents["config"]["data"]["source"] |= {"tokenizer": "spacy", "language": language}
    said = "not a language code" if language == "../en" else "spaCy has no tokenizer rules for"
    assert f"language: {said}" in refusal(tmp_path, contents)
