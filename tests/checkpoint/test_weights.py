"""Weights in 8 bits: what is stored, what comes back, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.checkpoints import CPU, JOINT, LARGE, Alter, Maker, Saver, altered, refusal, weights

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.cli import main

BIAS, EMBEDDING, VECTOR = "decoder.output.bias", "decoder.embedding.weight", "decoder.attention.score.v.weight"


def in_8_bits(save: Saver, *overrides: str) -> tuple[Path, Path]:
    """A checkpoint, and the one that `nmt average --int8` makes of it."""
    whole = save("whole", *overrides)
    small = whole.with_name("small.safetensors")
    assert main(["average", str(whole), "--int8", "--output", str(small)]) == 0
    return whole, small


@pytest.mark.parametrize("overrides", [[], JOINT, ["model.cell=lstm", "model.encoder.self_attention=2"]], ids=str)
def test_weights_come_back_within_half_a_step_of_their_row(save: Saver, overrides: list[str]) -> None:
    paths = in_8_bits(save, *overrides)
    whole, small = map(weights, paths)
    stored = checkpoint_file.read(paths[1])["model"]
    for name, weight in whole.items():
        assert small[name].dtype == torch.float32
        if weight.dim() < 2 or name == VECTOR:
            assert torch.equal(small[name], weight)
        else:
            assert stored[name].dtype == torch.int8
            assert (stored[name].abs().amax(dim=1) == 127).all()
            half_a_step = weight.abs().amax(dim=1, keepdim=True) / 127 / 2
            assert ((small[name] - weight).abs() <= half_a_step * (1 + 1e-5)).all()


def test_a_small_file_holds_no_block_that_a_gpu_keeps_weights_in(tmp_path: Path, make_translator: Maker) -> None:
    config, translator = make_translator(*LARGE)
    rnn = translator.model.encoder.rnn
    block = torch.cat([weight.detach().flatten() for weight in rnn.parameters()])
    views = block.split([weight.numel() for weight in rnn.parameters()])
    for weight, view in zip(rnn.parameters(), views, strict=True):
        weight.data = view.view_as(weight)  # as cuDNN has them
    with torch.no_grad():
        translator.model.decoder.embedding.weight[5] = 0
    paths = tmp_path / "whole.safetensors", tmp_path / "small.safetensors"
    for path, int8 in zip(paths, (False, True), strict=True):
        checkpoint.save(path, config, translator.source, translator.target, translator.model, int8=int8)
    assert paths[1].stat().st_size < 0.5 * paths[0].stat().st_size
    assert not weights(paths[1])[EMBEDDING][5].any()  # a row of zeros comes back


def test_a_quarter_of_the_space_and_what_is_shared_once(save: Saver) -> None:
    whole, small = in_8_bits(save, *JOINT, *LARGE)
    model = checkpoint.load(small, CPU).model
    assert model.decoder.output.weight is model.decoder.embedding.weight is model.encoder.embedding.weight
    matrices = [weight for weight in model.parameters() if weight.dim() > 1 and len(weight) > 1]
    saved = sum(3 * weight.numel() - 4 * len(weight) for weight in matrices)
    assert whole.stat().st_size - small.stat().st_size == pytest.approx(saved, rel=0.02)


def test_a_subword_model_of_both_sides_is_stored_once(save: Saver, make_translator: Maker) -> None:
    for overrides, count in ((JOINT, 1), (JOINT[1:-1], 2)):
        path, (_, translator) = save(f"{count}", *overrides), make_translator(*overrides)
        assert sum(name.endswith("subword_model") for name in load_file(path)) == count
        loaded = checkpoint.load(path, CPU)
        assert (loaded.source, loaded.target) == (translator.source, translator.target)


def test_the_8_bits_stay_with_another_threshold(save: Saver) -> None:
    small = save("small", *JOINT, int8=True)
    calibrated = small.with_name("calibrated.safetensors")
    checkpoint.set_thresholds(small, calibrated, -9.0, 3.0)
    before, after = load_file(small), load_file(calibrated)
    assert after.keys() == before.keys()
    for name, tensor in before.items():
        assert after[name].dtype == tensor.dtype
        assert torch.equal(after[name], tensor)


def scaled(change: Callable[[torch.Tensor], object]) -> Alter:
    return lambda contents: contents["scales"].update({EMBEDDING: change(contents["scales"][EMBEDDING])})


@pytest.mark.parametrize(
    ("alter", "error"),
    [
        (
            lambda c: c.update(scales={}),
            "score.memory.weight is torch.int8 of shape (7, 10), but real numbers of shape (7, 10)",
        ),
        (lambda c: c["scales"].pop(EMBEDDING), f"{EMBEDDING} is torch.int8 of shape (12, 6), but real numbers"),
        (lambda c: c["scales"].update(more=torch.ones(2)), "scales.more is real numbers of shape (2,), but more is"),
        (lambda c: c["scales"].update({BIAS: torch.ones(12)}), f"shape (12,), but {BIAS} is real numbers of shape"),
        (lambda c: c["model"].pop(EMBEDDING), f"but {EMBEDDING} is nothing"),
        (lambda c: c["model"].update({EMBEDDING: torch.tensor(7, dtype=torch.int8)}), "is torch.int8 of shape (): use"),
        (
            lambda c: c["model"].update({EMBEDDING: c["model"][EMBEDDING][:, :3].clone()}),
            f"{EMBEDDING} is torch.int8 of shape (12, 3), but real numbers of shape (12, 6) is needed",
        ),
        (scaled(lambda scale: scale[:-1]), f"scales.{EMBEDDING} is real numbers of shape (11,), but {EMBEDDING} is"),
        (scaled(lambda scale: scale.int()), f"scales.{EMBEDDING} holds a value that no row can have"),
        (scaled(lambda scale: torch.full_like(scale, 3e38)), f"{EMBEDDING} holds a value that is not finite"),
    ],
)
def test_hostile_rows_are_refused(save: Saver, alter: Alter, error: str) -> None:
    assert error in refusal(altered(in_8_bits(save)[1], alter))
