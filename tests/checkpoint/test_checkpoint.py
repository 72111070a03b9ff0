import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

import nmt
from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
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
    return save(tmp_path / "best.pt", *make_translator())


@pytest.mark.parametrize("kind", KINDS)
def test_translations_are_the_same_before_and_after(
    tmp_path: Path, make_translator: Maker, text: dict[str, ParallelText], kind: str
) -> None:
    config, translator = make_translator(*KINDS[kind])
    before = translator.translate(text["test"].source, n_best=2)
    path = save(tmp_path / "best.pt", config, translator)
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
    loaded = checkpoint.load(save(tmp_path / "last.pt", config, translator, training), CPU)
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


def test_it_holds_plain_values_and_tensors_alone(saved: Path) -> None:
    contents = torch.load(saved, weights_only=True)  # refuses all but those

    def types(value: object) -> set[type]:
        if isinstance(value, dict):
            return {type(value)}.union(*map(types, value), *map(types, value.values()))
        if isinstance(value, list):
            return {list}.union(*map(types, value))
        return {type(value)}

    del contents["model"]  # an OrderedDict of tensors
    assert types(contents) <= {dict, list, str, int, float, bool, type(None), torch.Tensor}


def test_tied_weights_stay_shared(tmp_path: Path, make_translator: Maker) -> None:
    for tied, overrides in (("target", ["model.tied_embeddings=target"]), ("all", KINDS["sentencepiece"])):
        config, translator = make_translator(*overrides)
        model = checkpoint.load(save(tmp_path / f"{tied}.pt", config, translator), CPU).model
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
        with pytest.raises(UserError, match=r"best\.pt cannot be written \(no space left"):
            save(saved, config, translator)
    assert saved.read_bytes() == old
    save(saved, config, translator)
    assert saved.read_bytes() != old
    assert checkpoint.load(saved, CPU).config.training.seed == 2
    assert [path.name for path in saved.parent.glob("*best.pt*")] == ["best.pt"]


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
    assert "is not a complete nmt checkpoint: it was cut short" in refusal(saved)


def test_a_single_altered_byte_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    for place in (0, 100, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert "damaged: its checksum is wrong" in refusal(saved)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "none.pt")
    assert f"is a folder: give the checkpoint in it, such as {tmp_path / 'best.pt'}" in refusal(tmp_path)
    (tmp_path / "model.pt").touch()
    assert f"is a folder: give the checkpoint in it, such as {tmp_path / 'model.pt'}" in refusal(tmp_path)


class Malicious:
    """Unpickling it would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_foreign_files_are_refused_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "foreign.pt"
    trap = tmp_path / "trap"
    buffer = io.BytesIO()
    torch.save(Malicious(trap), buffer)
    for data in (
        pickle.dumps(Fraction(1, 2)),
        pickle.dumps(Malicious(trap)),
        buffer.getvalue(),
        b"name: a-config\n",
    ):
        path.write_bytes(data)
        assert "is not a complete nmt checkpoint" in refusal(path)
    checkpoint_file.write(path, {"model": Malicious(trap)})  # with a checksum that is right
    assert "is not an nmt checkpoint: it cannot be read (UnpicklingError: " in refusal(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"model": {}}, "is not an nmt checkpoint: format: "),
        ({"format": "2"}, "is not an nmt checkpoint: format: "),
        ({"format": 1}, "written by an older nmt: train again, or use that version (format 1, not 3)"),
        ({"format": 4}, "written by a newer nmt: update nmt (format 4, not 3)"),
        ([1, 2], "holds a list"),
        (torch.zeros(2), "holds a Tensor"),
    ],
)
def test_files_of_other_programs_and_formats_are_refused(tmp_path: Path, contents: Any, said: str) -> None:
    torch.save(contents, tmp_path / "other.pt")
    assert "is not a complete nmt checkpoint" in refusal(tmp_path / "other.pt")
    checkpoint_file.write(tmp_path / "other.pt", contents)
    assert said in refusal(tmp_path / "other.pt")


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
            lambda c: c["model"].update({"decoder.output.bias": torch.zeros(12).to_sparse()}),
            "_rebuild_sparse_tensor is not allowed",
        ),
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
        (lambda c: c.update(more=3), "more: unknown field; use"),
        (lambda c: c["source"].update(more=3), "source.more: unknown field; use"),
    ],
)
def test_contents_that_do_not_fit_together_are_refused(
    saved: Path, alter: Callable[[dict[str, Any]], object], said: str
) -> None:
    assert said in refusal(altered(saved, alter))


def test_a_subword_model_that_is_none_is_refused(tmp_path: Path, make_translator: Maker) -> None:
    path = save(tmp_path / "best.pt", *make_translator(*KINDS["sentencepiece"]))
    for noise in (torch.zeros(50, dtype=torch.uint8), torch.zeros(50), torch.zeros(0, dtype=torch.uint8)):
        altered(path, lambda contents, noise=noise: contents["source"].update(subword_model=noise))
        assert "source.subword_model" in refusal(path)


def test_one_file_is_enough_to_translate_anywhere(
    tmp_path: Path, corpus: Path, make_translator: Maker, text: dict[str, ParallelText]
) -> None:
    config, translator = make_translator(*KINDS["sentencepiece"])
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    save(elsewhere / "kept.pt", config, translator)
    for path in corpus.iterdir():
        path.unlink()
    program = "import nmt, sys; print(nmt.Translator.load('kept.pt', device='cpu').translate(sys.argv[1:])[0].text)"
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
