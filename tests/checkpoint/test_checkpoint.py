import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from support.cli import error_of

import nmt
from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main
from nmt.config.run import Config
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
CPU = torch.device("cpu")
KINDS = {
    "bahdanau": [],
    "luong": [
        "model.attention={wiring: luong, score: general, scope: local_p}",
        "model.decoder.layers=2",
        "model.cell=lstm",
    ],
    "none": ["model.attention.wiring=none"],
    "sentencepiece": [
        "data.joint_vocabulary=true",
        *(
            f"data.{side}.{field}"
            for side in ("source", "target")
            for field in ("tokenizer=sentencepiece", "vocabulary_size=32")
        ),
        "model.tied_embeddings=all",
    ],
}


def save(path: Path, config: Config, translator: Translator, training: dict[str, Any] | None = None) -> Path:
    checkpoint.save(path, config, translator.source, translator.target, translator.model, training)
    return path


@pytest.fixture
def saved(tmp_path: Path, make_translator: Maker) -> Path:
    return save(tmp_path / "best.safetensors", *make_translator())


@pytest.mark.parametrize("kind", KINDS)
def test_translations_are_the_same_before_and_after(
    tmp_path: Path, make_translator: Maker, text: dict[str, ParallelText], kind: str
) -> None:
    config, translator = make_translator(*KINDS[kind])
    before = translator.translate(text["test"].source, n_best=2)
    path = save(tmp_path / "best.safetensors", config, translator)
    after = Translator.load(path, device="cpu").translate(text["test"].source, n_best=2)
    assert len({translation.text for translation in before}) > 1
    for one, other in zip(before, after, strict=True):
        assert (one.text, one.tokens, one.source_tokens, one.score) == (
            (other.text, other.tokens, other.source_tokens, other.score)
        )
        assert [t.text for t in one.n_best] == [t.text for t in other.n_best]
        assert kind == "none" or torch.equal(one.attention, other.attention)


def test_all_that_was_saved_comes_back(tmp_path: Path, make_translator: Maker) -> None:
    config, translator = make_translator("training.seed=7")
    translator.model.train()
    training = {"state": {"update": 3}, "random": torch.get_rng_state(), "best": 1.5}
    loaded = checkpoint.load(save(tmp_path / "last.safetensors", config, translator, training), CPU)
    assert loaded.config == config
    assert (loaded.source, loaded.target) == (translator.source, translator.target)
    assert not loaded.model.training
    for (name, one), (other_name, other) in zip(
        translator.model.state_dict().items(), loaded.model.state_dict().items(), strict=True
    ):
        assert name == other_name
        assert torch.equal(one, other)
    assert loaded.training is not None
    assert torch.equal(loaded.training.pop("random"), training.pop("random"))
    assert loaded.training == training


def test_a_checkpoint_for_translation_alone_has_no_training_state(saved: Path) -> None:
    assert checkpoint.load(saved, CPU).training is None


def test_any_program_can_read_it(saved: Path, make_translator: Maker) -> None:
    tensors = load_file(saved)
    weights = make_translator()[1].model.state_dict()
    assert tensors.keys() == {f"model.{name}" for name in weights}
    for name, weight in weights.items():
        assert torch.equal(tensors[f"model.{name}"], weight)
    with safe_open(saved, "pt") as file:
        document = json.loads(file.metadata()["nmt"])
    digest = document["sha256"].encode()
    assert hashlib.sha256(saved.read_bytes().replace(digest, b"0" * 64)).hexdigest().encode() == digest
    assert document["contents"]["config"]["name"] == make_translator()[0].name
    assert document["contents"]["source"]["tokens"][:4] == ["<unk>", "<pad>", "<bos>", "<eos>"]


def test_the_same_contents_give_the_same_bytes(saved: Path, make_translator: Maker) -> None:
    assert save(saved.with_name("again.safetensors"), *make_translator()).read_bytes() == saved.read_bytes()


def test_tied_weights_stay_shared(tmp_path: Path, make_translator: Maker) -> None:
    for tied, overrides in (("target", ["model.tied_embeddings=target"]), ("all", KINDS["sentencepiece"])):
        config, translator = make_translator(*overrides)
        model = checkpoint.load(save(tmp_path / f"{tied}.safetensors", config, translator), CPU).model
        assert model.decoder.output.weight is model.decoder.embedding.weight
        assert (model.encoder.embedding.weight is model.decoder.embedding.weight) is (tied == "all")
        assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in translator.model.parameters())


@pytest.mark.parametrize("failing", ["files.os.fsync", "files.Path.replace"])
def test_a_failing_save_leaves_the_old_file(
    saved: Path, make_translator: Maker, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    old = saved.read_bytes()
    config, translator = make_translator("training.seed=2")

    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"nmt.system.{failing}", fail)
        with pytest.raises(UserError, match=r"best\.safetensors cannot be written \(no space left"):
            save(saved, config, translator)
    assert saved.read_bytes() == old
    save(saved, config, translator)
    assert saved.read_bytes() != old
    assert checkpoint.load(saved, CPU).config.training.seed == 2
    assert [path.name for path in saved.parent.glob("*best.safetensors*")] == ["best.safetensors"]


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        checkpoint.load(path, CPU)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_refused(saved: Path, share: float) -> None:
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    said = "is damaged or was cut short" if share else "is not a complete nmt checkpoint: it was cut short"
    assert said in refusal(saved)


def test_a_single_altered_byte_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    for index in (100, len(whole) // 2, len(whole) - 100, len(whole) - 1, whole.index(b"encoder")):
        saved.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        assert "damaged or was cut short: its checksum is wrong" in refusal(saved)
    saved.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])  # of the header's length
    refusal(saved)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "none.safetensors")
    assert f"is a folder: give the checkpoint in it, such as {tmp_path / 'best.safetensors'}" in refusal(tmp_path)
    (tmp_path / "model.safetensors").touch()
    assert f"is a folder: give the checkpoint in it, such as {tmp_path / 'model.safetensors'}" in refusal(tmp_path)


def test_files_of_other_programs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.safetensors"
    for data in (pickle.dumps(Fraction(1, 2)), b"name: a-config\n", safetensors.torch.save({"x": torch.zeros(2)})):
        path.write_bytes(data)
        assert "is not a complete nmt checkpoint" in refusal(path)


@pytest.mark.parametrize("command", ["translate", "evaluate", "score", "average", "calibrate"])
def test_an_older_checkpoint_is_refused_with_advice(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "best.pt"
    torch.save({"format": 3}, path)
    options = {"translate": ["x"], "evaluate": [], "score": ["--source", __file__, "--target", __file__]}
    assert main([command, str(path), *options.get(command, ["--output", str(tmp_path / "new")])]) == 2
    advice = f"convert it with nmt migrate {path} {path.with_suffix('.safetensors')}"
    assert error_of(capsys) == f"error: {path} is a checkpoint of nmt 0.3 or older: {advice}\n"


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"model": {}}, "is not an nmt checkpoint: format: "),
        ({"format": "2"}, "is not an nmt checkpoint: format: "),
        ({"format": 5}, "written by a newer nmt: update nmt (format 5, not 4)"),
    ],
)
def test_files_of_other_formats_are_refused(tmp_path: Path, contents: Any, said: str) -> None:
    checkpoint_file.write(tmp_path / "other.safetensors", contents)
    assert said in refusal(tmp_path / "other.safetensors")


def altered(saved: Path, alter: Callable[[dict[str, Any]], object]) -> Path:
    """The checkpoint with something else in it, and a checksum that is right."""
    contents = checkpoint_file.read(saved)
    alter(contents)
    checkpoint_file.write(saved, contents)
    return saved


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda c: c.update(model=7), "model: input should be a valid dictionary (here: 7)"),
        (lambda c: c["model"].update(more=7), "model.more: input should be an instance of Tensor"),
        (lambda c: c["model"].update(more=torch.zeros(2)), "more is real numbers of shape (2,), but nothing is needed"),
        (lambda c: c["model"].pop("decoder.output.bias"), "decoder.output.bias is nothing, but real numbers of shape"),
        (lambda c: c["model"].update({"decoder.output.bias": torch.zeros(3)}), "is real numbers of shape (3,), but "),
        (lambda c: c["model"].update({"decoder.output.bias": torch.zeros(12).long()}), "is torch.int64 of shape (12,)"),
        (
            lambda c: c["model"]["decoder.output.bias"].fill_(torch.nan),
            "bias holds a value that is not finite",
        ),
        (lambda c: c["target"]["tokens"].append("new"), "(12, 6), but real numbers of shape (13, 6) is needed"),
        (lambda c: c["target"]["tokens"].pop(), "real numbers of shape (11, 6) is needed"),
        (lambda c: c["source"]["tokens"].append("ba"), "source.tokens: not <unk>, <pad>, <bos>, <eos> and then others"),
        (lambda c: c["source"].update(tokens=["a", "b"]), "source.tokens: not <unk>"),
        (lambda c: c["source"].update(subword_model="x"), "source.subword_model: input should be an instance of"),
        (lambda c: c["config"]["data"]["source"].update(tokenizer="spacy", language=""), "not a language code"),
        (lambda c: c["config"].update(name="../../etc"), "name: "),
        (
            lambda c: c["config"]["model"].update(novelty=1),
            "newer nmt has written it, update nmt): model.novelty: unkn",
        ),
        (
            lambda c: c["config"]["model"]["encoder"].update(hidden_size=10**9),
            "no memory can hold a model of the sizes",
        ),
        (lambda c: c["config"]["model"].update(embedding_size=3 * 10**18), "embedding_size: input should be less than"),
        (
            lambda c: c["config"]["model"].update(embedding_size=10**7),
            "(12, 6), but real numbers of shape (12, 10000000)",
        ),
        (
            lambda c: c["config"]["model"]["encoder"].update(layers=10**9),
            "layers: input should be less than or equal to",
        ),
        (lambda c: c.update(training=3), "training: "),
        (lambda c: c.update(more=3), "more: extra inputs are not permitted"),
        (lambda c: c["source"].update(more=3), "source.more: extra inputs are not permitted"),
    ],
)
def test_contents_that_do_not_fit_together_are_refused(
    saved: Path, alter: Callable[[dict[str, Any]], object], said: str
) -> None:
    assert said in refusal(altered(saved, alter))


def test_a_subword_model_that_is_none_is_refused(tmp_path: Path, make_translator: Maker) -> None:
    path = save(tmp_path / "best.safetensors", *make_translator(*KINDS["sentencepiece"]))
    for noise in (torch.zeros(50, dtype=torch.uint8), torch.zeros(50), torch.zeros(0, dtype=torch.uint8)):
        altered(path, lambda contents, noise=noise: contents["source"].update(subword_model=noise))
        assert "source.subword_model" in refusal(path)


def test_one_file_is_enough_to_translate_anywhere(
    tmp_path: Path, corpus: Path, make_translator: Maker, text: dict[str, ParallelText]
) -> None:
    config, translator = make_translator(*KINDS["sentencepiece"])
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    save(elsewhere / "kept.safetensors", config, translator)
    for path in corpus.iterdir():
        path.unlink()
    program = (
        "import nmt, sys; print(nmt.Translator.load('kept.safetensors', device='cpu').translate(sys.argv[1:])[0].text)"
    )
    sentence = text["test"].source[0]
    result = subprocess.run(
        [sys.executable, "-c", program, sentence],
        cwd=elsewhere,
        env=os.environ | {"PYTHONPATH": str(Path(nmt.__file__).parent.parent), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert result.stdout == translator.translate([sentence])[0].text + "\n"
    assert result.stderr == ""
