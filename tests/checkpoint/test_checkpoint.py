import hashlib
import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from support.checkpoints import CPU, JOINT, Alter, Maker, Saver, altered, refusal
from support.runs import assert_same

from nmt.checkpoint import contents as checkpoint
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

KINDS = {
    "bahdanau": [],
    "luong": [
        "model.attention={wiring: luong, score: general, scope: local_p}",
        "model.decoder.layers=2",
        "model.cell=lstm",
    ],
    "none": ["model.attention.wiring=none"],
    "sentencepiece": JOINT,
}


@pytest.fixture
def saved(save: Saver) -> Path:
    return save("best")


@pytest.mark.parametrize("kind", KINDS)
def test_translations_are_the_same_before_and_after(
    save: Saver, make_translator: Maker, text: dict[str, ParallelText], kind: str
) -> None:
    before = make_translator(*KINDS[kind])[1].translate(text["test"].source, n_best=2)
    after = Translator.load(save("best", *KINDS[kind]), device="cpu").translate(text["test"].source, n_best=2)
    assert len({translation.text for translation in before}) > 1
    for one, other in zip(before, after, strict=True):
        assert (one.text, one.tokens, one.source_tokens, one.score) == (
            (other.text, other.tokens, other.source_tokens, other.score)
        )
        assert [t.text for t in one.n_best] == [t.text for t in other.n_best]
        assert kind == "none" or torch.equal(one.attention, other.attention)


def test_all_that_was_saved_comes_back(save: Saver, make_translator: Maker) -> None:
    config, translator = make_translator("training.seed=7")
    training = {"state": {"update": 3}, "random": torch.get_rng_state(), "best": 1.5}
    loaded = checkpoint.load(save("last", "training.seed=7", training=training), CPU)
    assert loaded.config == config
    assert (loaded.source, loaded.target) == (translator.source, translator.target)
    assert not loaded.model.training
    assert_same(dict(loaded.model.state_dict()), dict(translator.model.state_dict()))
    assert_same(loaded.training, training)
    assert checkpoint.load(save("best"), CPU).training is None


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


def test_the_same_contents_give_the_same_bytes(saved: Path, save: Saver) -> None:
    assert save("again").read_bytes() == saved.read_bytes()


def test_tied_weights_stay_shared(save: Saver, make_translator: Maker) -> None:
    for tied, overrides in (("target", ["model.tied_embeddings=target"]), ("all", JOINT)):
        model = checkpoint.load(save(tied, *overrides), CPU).model
        assert model.decoder.output.weight is model.decoder.embedding.weight
        assert (model.encoder.embedding.weight is model.decoder.embedding.weight) is (tied == "all")
        before = make_translator(*overrides)[1].model
        assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in before.parameters())


@pytest.mark.parametrize("failing", ["files.os.fsync", "files.Path.replace"])
def test_a_failing_save_leaves_the_old_file(
    saved: Path, save: Saver, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    old = saved.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"nmt.system.{failing}", fail)
        with pytest.raises(UserError, match=r"best\.safetensors cannot be written \(no space left"):
            save("best", "training.seed=2")
    assert saved.read_bytes() == old
    save("best", "training.seed=2")
    assert saved.read_bytes() != old
    assert checkpoint.load(saved, CPU).config.training.seed == 2
    assert [path.name for path in saved.parent.glob("*best.safetensors*")] == ["best.safetensors"]


def test_a_file_that_was_cut_short_or_altered_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    saved.write_bytes(b"")
    assert "is not a complete nmt checkpoint: it was cut short" in refusal(saved)
    for share in (0.01, 0.5, 0.999):
        saved.write_bytes(whole[: int(share * len(whole))])
        assert "is damaged or was cut short" in refusal(saved)
    for index in (100, len(whole) // 2, len(whole) - 1, whole.index(b"encoder")):
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


def test_an_older_checkpoint_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "best.pt"
    torch.save({"format": 3}, path)
    advice = f"convert it with nmt migrate {path} {path.with_suffix('.safetensors')}"
    assert refusal(path) == f"{path} is a checkpoint of nmt 0.3 or older: {advice}"


@pytest.mark.parametrize(
    ("alter", "error"),
    [
        (lambda c: c.pop("format"), "is not an nmt checkpoint: format: "),
        (lambda c: c.update(format=5), "written by a newer nmt: update nmt (format 5, not 4)"),
        (lambda c: c.update(model=7), "model: input should be a valid dictionary (here: 7)"),
        (lambda c: c["model"].update(more=torch.zeros(2)), "more is real numbers of shape (2,), but nothing is needed"),
        (lambda c: c["model"].pop("decoder.output.bias"), "decoder.output.bias is nothing, but real numbers of shape"),
        (lambda c: c["model"].update({"decoder.output.bias": torch.zeros(3)}), "is real numbers of shape (3,), but "),
        (lambda c: c["model"]["decoder.output.bias"].fill_(torch.nan), "bias holds a value that is not finite"),
        (lambda c: c["source"]["tokens"].append("ba"), "source.tokens: not <unk>, <pad>, <bos>, <eos> and then others"),
        (lambda c: c["config"]["data"]["source"].update(tokenizer="spacy", language=""), "not a language code"),
        (lambda c: c["config"]["model"].update(novelty=1), "has written it, update nmt): model.novelty: unknown field"),
        (lambda c: c["config"]["model"]["encoder"].update(hidden_size=10**9), "no memory can hold a model of the size"),
        (lambda c: c["config"]["model"].update(embedding_size=3 * 10**18), "embedding_size: input should be less than"),
        (lambda c: c.update(more=3), "more: extra inputs are not permitted"),
    ],
)
def test_contents_that_do_not_fit_together_are_refused(saved: Path, alter: Alter, error: str) -> None:
    assert error in refusal(altered(saved, alter))


def test_a_subword_model_that_is_none_is_refused(save: Saver) -> None:
    path = save("best", *JOINT)
    for noise in (torch.zeros(50, dtype=torch.uint8), torch.zeros(50), torch.zeros(0, dtype=torch.uint8)):
        altered(path, lambda contents, noise=noise: contents["source"].update(subword_model=noise))
        assert "source.subword_model" in refusal(path)
