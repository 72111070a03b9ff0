"""Averages of weights: while training, and of checkpoints."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.checkpoints import CPU, JOINT, LARGE, Maker, Saver, weights
from support.tiny_models import Variant, tiny_model

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.commands.average import mean_of
from nmt.system.errors import UserError
from nmt.training.update import MovingAverage


def test_the_moving_average_is_that_of_its_recursion() -> None:
    model = tiny_model(Variant("bahdanau"))
    average = MovingAverage(model, decay=0.6)
    weight, averaged = model.decoder.output.weight, average.model.decoder.output.weight
    expected = weight.detach().numpy().copy()
    for update in range(1, 31):
        with torch.no_grad():
            weight.copy_(torch.randn_like(weight))
        average.update(update)
        keep = min(0.6, (1 + update) / (10 + update))
        expected = keep * expected + (1 - keep) * weight.detach().numpy()
        np.testing.assert_allclose(averaged.numpy(), expected, rtol=0, atol=1e-12)
    assert not averaged.requires_grad


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


def test_the_mean_of_checkpoints(tmp_path: Path, save: Saver, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(save(f"{plus}", *JOINT, plus=plus)) for plus in (0.0, 1.0, 2.0)]
    assert main(["average", *paths, "--output", str(tmp_path / "mean.safetensors")]) == 0
    assert "mean.safetensors" in capsys.readouterr().out
    states = [weights(path) for path in paths]
    mean = checkpoint.load(tmp_path / "mean.safetensors", CPU)
    for name, weight in mean.model.state_dict().items():
        expected = np.mean([state[name].numpy() for state in states], axis=0)
        np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-5, atol=1e-7)
    assert mean.training is None
    assert mean.model.decoder.output.weight is mean.model.encoder.embedding.weight


def test_half_of_the_space_for_nearly_the_same_weights(tmp_path: Path, save: Saver) -> None:
    path, output = save("whole", *JOINT, *LARGE), tmp_path / "half.safetensors"
    assert main(["average", str(path), "--half", "--output", str(output)]) == 0
    whole, half = weights(path), checkpoint.load(output, CPU).model
    for name, weight in half.state_dict().items():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, whole[name].half().float())
    count = sum(parameter.numel() for parameter in half.parameters())
    assert path.stat().st_size - output.stat().st_size == pytest.approx(2 * count, rel=0.02)


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("model.embedding_size=8", "model.embedding_size"),
        ("data.source.min_frequency=20", "source tokens"),
        ("training.seed=7", "began with different weights"),
        ("training.start_from=other.safetensors", "began with different weights"),
    ],
)
def test_unlike_models_have_no_mean(save: Saver, override: str, reason: str) -> None:
    paths = [str(save("one")), str(save("other", override))]
    with pytest.raises(UserError) as error:
        mean_of({path: checkpoint.load(path, CPU) for path in paths})
    for word in (*paths, reason):
        assert word in str(error.value)


def test_models_that_started_from_one_checkpoint_have_a_mean(save: Saver) -> None:
    start = "training.start_from=first.safetensors"
    dropout = {1: "model.encoder.dropout=0", 2: "model.encoder.dropout=0.5"}  # which changes no weight
    paths = [str(save(f"{seed}", start, f"training.seed={seed}", dropout[seed])) for seed in dropout]
    one, other = map(weights, paths)
    mean = mean_of({path: checkpoint.load(path, CPU) for path in paths}).model.state_dict()
    for name, weight in mean.items():
        torch.testing.assert_close(weight, (one[name] + other[name]) / 2)
    assert any(not torch.equal(weight, one[name]) for name, weight in mean.items())
