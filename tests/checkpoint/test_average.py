"""Averages of weights: while training, and of checkpoints."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.commands.average import mean_of
from nmt.config.run import Config
from nmt.system.errors import UserError
from nmt.training.train_state import MovingAverage
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
CPU = torch.device("cpu")
JOINT = [
    "data.joint_vocabulary=true",
    *(f"data.{side}.tokenizer=sentencepiece" for side in ("source", "target")),
    *(f"data.{side}.vocabulary_size=32" for side in ("source", "target")),
    "model.tied_embeddings=all",
]


def test_the_moving_average_is_that_of_its_recursion() -> None:
    layer = nn.Linear(3, 2).double()
    average = MovingAverage(layer, decay=0.6)
    weights, expected = [], layer.weight.detach().numpy().copy()
    for update in range(1, 31):
        with torch.no_grad():
            layer.weight.copy_(torch.randn(2, 3, dtype=torch.float64))
        weights.append(layer.weight.detach().numpy().copy())
        average.update(update)
        keep = min(0.6, (1 + update) / (10 + update))
        expected = keep * expected + (1 - keep) * weights[-1]
        np.testing.assert_allclose(average.model.weight.numpy(), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), weights[-1])  # which it leaves alone
    assert not average.model.weight.requires_grad


def test_tied_weights_move_once(make_translator: Maker) -> None:
    _, translator = make_translator(*JOINT)
    model = translator.model
    average = MovingAverage(model, decay=0.5)
    before = model.decoder.output.weight.detach().clone()
    with torch.no_grad():
        model.decoder.output.weight.add_(1.0)
    average.update(1000)
    averaged = average.model
    assert averaged.decoder.output.weight is averaged.encoder.embedding.weight
    torch.testing.assert_close(averaged.decoder.output.weight, before + 0.5)


def save(path: Path, make_translator: Maker, *overrides: str, plus: float = 0.0) -> str:
    config, translator = make_translator(*overrides)
    with torch.no_grad():
        for parameter in translator.model.parameters():
            parameter.add_(plus * torch.rand_like(parameter))
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    return str(path)


def test_the_mean_of_checkpoints(tmp_path: Path, make_translator: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [save(tmp_path / f"{plus}.safetensors", make_translator, *JOINT, plus=plus) for plus in (0.0, 1.0, 2.0)]
    assert main(["average", *paths, "--output", str(tmp_path / "mean.safetensors")]) == 0
    assert "mean.safetensors" in capsys.readouterr().out
    states = [checkpoint.load(path, CPU).model.state_dict() for path in paths]
    mean = checkpoint.load(tmp_path / "mean.safetensors", CPU)
    for name, weight in mean.model.state_dict().items():
        expected = np.mean([state[name].numpy() for state in states], axis=0)
        np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-5, atol=1e-7)
    assert mean.training is None
    assert mean.model.decoder.output.weight is mean.model.encoder.embedding.weight


def test_half_of_the_space_for_nearly_the_same_weights(tmp_path: Path, make_translator: Maker) -> None:
    large = ["model.embedding_size=64", "model.encoder.hidden_size=64", "model.decoder.hidden_size=64"]
    path = save(tmp_path / "whole.safetensors", make_translator, *JOINT, *large)
    assert main(["average", path, "--half", "--output", str(tmp_path / "half.safetensors")]) == 0
    whole, half = (
        checkpoint.load(path, CPU).model.state_dict(),
        checkpoint.load(tmp_path / "half.safetensors", CPU).model,
    )
    for name, weight in half.state_dict().items():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, whole[name].half().float())
    weights = sum(parameter.numel() for parameter in half.parameters())
    saved = Path(path).stat().st_size - (tmp_path / "half.safetensors").stat().st_size
    assert saved == pytest.approx(2 * weights, rel=0.02)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["model.embedding_size=8"], ["model.embedding_size"]),
        (["data.source.min_frequency=20"], ["source tokens"]),
        (["training.seed=7"], ["began with different weights"]),
        (["training.start_from=other.safetensors"], ["began with different weights"]),
    ],
)
def test_unlike_models_have_no_mean(
    tmp_path: Path, make_translator: Maker, overrides: list[str], words: list[str]
) -> None:
    paths = [
        save(tmp_path / "one.safetensors", make_translator),
        save(tmp_path / "other.safetensors", make_translator, *overrides),
    ]
    with pytest.raises(UserError) as error:
        mean_of({path: checkpoint.load(path, CPU) for path in paths})
    for word in (*paths, *words):
        assert word in str(error.value)


def test_models_that_started_from_one_checkpoint_have_a_mean(tmp_path: Path, make_translator: Maker) -> None:
    start = "training.start_from=first.safetensors"
    dropout = {1: "model.encoder.dropout=0", 2: "model.encoder.dropout=0.5"}  # which changes no weight
    paths = [
        save(tmp_path / f"{n}.safetensors", make_translator, start, f"training.seed={n}", dropout[n]) for n in dropout
    ]
    one, other = (checkpoint.load(path, CPU).model.state_dict() for path in paths)
    mean = mean_of({path: checkpoint.load(path, CPU) for path in paths}).model.state_dict()
    for name, weight in mean.items():
        torch.testing.assert_close(weight, (one[name] + other[name]) / 2)
    assert any(not torch.equal(weight, one[name]) for name, weight in mean.items())


def test_nothing_is_overwritten(tmp_path: Path, make_translator: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "one.safetensors", make_translator)
    before = Path(path).read_bytes()
    assert main(["average", path, "--output", path]) == 2
    assert path in capsys.readouterr().err
    assert Path(path).read_bytes() == before
