from typing import Any

import pytest
import torch
from support.losses import batch_loss
from torch import Tensor

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.config.training import TrainingConfig
from nmt.data.batching import Batch, Example, collate
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS, EOS, PAD
from nmt.training import update as update_module
from nmt.training.update import new_train_state, update

EXAMPLES = [
    Example([4, 5, 6], [7, 8]),
    Example([6, 4, 9, 10, 5, 4, 8], [5, 5, 9, 4, 10]),
    Example([8], [6, 9, 4]),
    Example([10, 9, 4, 4], [10]),
    Example([7, 7], [4, 8, 6, 6, 5, 7, 9, 10]),
    Example([5, 10, 6], [9]),
]
WIRINGS = ["bahdanau", "luong", "none"]
# The first gradients of the scope's weights are 0.
NARROWING = {"scope": "local_p", "window": 1, "narrow_from": 9, "narrow_updates": 4, "fixed_above": 2}


def make_model(wiring: str = "bahdanau", **more: Any) -> Seq2Seq:
    """Eleven types a side, in double precision, without dropout."""
    sizes = {
        "embedding_size": 6,
        "embedding_dropout": 0,
        "encoder": {"hidden_size": 5, "dropout": 0},
        "decoder": {"hidden_size": 7, "dropout": 0},
    }
    torch.manual_seed(1)
    attention = {"wiring": wiring} | more.get("attention", {})
    return build_model(ModelConfig.model_validate({**sizes, **more, "attention": attention}), 11, 11).double()


def gradients(model: Seq2Seq, *batches: Batch) -> dict[str, Tensor]:
    model.zero_grad()
    for batch in batches:
        batch_loss(model, batch, 0.1).smoothed.backward()
    return {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


def change(model: Seq2Seq, batches: list[Batch], rate: float = 1.0, **config: Any) -> tuple[Tensor, float]:
    """All weights' change by one update of plain gradient descent, and the NLL that the update returns."""
    before = torch.nn.utils.parameters_to_vector(model.parameters()).clone()
    settings = TrainingConfig.model_validate({"clip_norm": None, **config})
    train_state = new_train_state(model, settings)._replace(optimizer=torch.optim.SGD(model.parameters(), lr=99.0))
    nll = update(train_state, batches, settings, rate, global_step=0)
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach() - before, nll


def test_accumulating_batches_equals_one_batch_of_all() -> None:
    whole, whole_nll = change(make_model("luong"), [collate(EXAMPLES)], label_smoothing=0.5)
    parts = [collate(EXAMPLES[:1]), collate(EXAMPLES[1:3]), collate(EXAMPLES[3:])]
    accumulated, nll = change(make_model("luong"), parts, label_smoothing=0.5)
    torch.testing.assert_close(accumulated, whole, rtol=1e-9, atol=1e-12)
    without_smoothing = batch_loss(make_model("luong"), collate(EXAMPLES), 0.0).nll.item()
    assert nll == pytest.approx(whole_nll, rel=1e-6) == pytest.approx(without_smoothing, rel=1e-6)


def test_updates_follow_the_mean_gradient_per_token_at_the_rate_and_do_not_pile_up() -> None:
    batch, model = collate(EXAMPLES), make_model("bahdanau")
    gradient = torch.cat([g.flatten() for g in gradients(model, batch).values()]) / batch.target_tokens
    for rate in (1e-9, 1e-9, 0.25):
        moved, _ = change(model, [batch], rate)
        torch.testing.assert_close(moved, -rate * gradient, rtol=1e-4, atol=1e-15)


@pytest.mark.parametrize("limit", [1e-3, 1e3])
def test_gradient_is_clipped_to_its_norm(limit: float) -> None:
    batches = [collate(EXAMPLES[:2]), collate(EXAMPLES[2:])]
    free, _ = change(make_model("bahdanau"), batches)
    clipped, _ = change(make_model("bahdanau"), batches, clip_norm=limit)
    expected = free * min(1.0, limit / free.norm().item())
    torch.testing.assert_close(clipped, expected, rtol=1e-2, atol=0)  # PyTorch adds 1e-6 to the norm


@pytest.mark.parametrize("wiring", WIRINGS)
def test_padding_changes_no_gradient(wiring: str) -> None:
    model = make_model(wiring)
    together = gradients(model, collate(EXAMPLES))
    alone = gradients(model, *(collate([example]) for example in EXAMPLES))
    torch.testing.assert_close(together, alone, rtol=1e-8, atol=1e-10)
    for name in ("encoder.embedding.weight", "decoder.embedding.weight"):
        assert not together[name][PAD].any()
        assert together[name][4:].abs().sum(dim=1).min() > 0
    assert together["decoder.embedding.weight"][BOS].any()
    assert not together["decoder.embedding.weight"][EOS].any()  # nothing is read behind the end


@pytest.mark.parametrize("reads_reference", [True, False])
@pytest.mark.parametrize("wiring", WIRINGS)
def test_loss_is_of_each_next_token_given_those_before(wiring: str, reads_reference: bool) -> None:
    """Against the decoder run by hand: an input shifted by one would be seen."""
    model = make_model(wiring)
    with torch.no_grad():
        model.decoder.output.weight.mul_(5)
    expected = 0.0
    for example in EXAMPLES:
        state, memory = model.encode(torch.tensor([[*example.source, EOS]]), torch.tensor([len(example.source) + 1]))
        last = torch.tensor([BOS])
        for following in [*example.target, EOS]:
            readout, state, _ = model.decoder.step(model.decoder.embed(last), state, memory)
            logits = model.decoder.logits(readout)
            expected -= logits.log_softmax(dim=1)[0, following].item()
            possible = logits.detach().clone()
            possible[:, [PAD, BOS]] = -torch.inf  # which no target holds
            last = torch.tensor([following]) if reads_reference else possible.argmax(dim=1)
    batch = collate(EXAMPLES)
    always = torch.ones(batch.target_input.shape, dtype=torch.bool)
    nll = batch_loss(model, batch, 0.0, always if reads_reference else ~always).nll.item()
    assert nll == pytest.approx(expected, rel=1e-9)
    by_default = batch_loss(model, batch, 0.0).nll.item()
    assert (nll == by_default) if reads_reference else (nll != pytest.approx(by_default, rel=1e-3))


def test_masks_are_sampled_by_the_schedule_once_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = []

    def sample(*arguments: Any) -> None:
        samples.append(arguments)

    monkeypatch.setattr(update_module, "sample_teacher_forcing_mask", sample)
    forcing = {"schedule": "linear", "decay": 0.01, "granularity": "step"}
    config = TrainingConfig.model_validate({"teacher_forcing": forcing})
    batches = [collate(EXAMPLES[:2]), collate(EXAMPLES[2:])]
    update(new_train_state(make_model("luong"), config), batches, config, 0.1, global_step=30)
    assert samples == [((2, 6), 0.7, "step"), ((4, 9), 0.7, "step")]


@pytest.mark.parametrize(
    ("attention", "layers"),
    [
        ({"wiring": "bahdanau", "coverage": True}, 2),
        ({"wiring": "luong", "score": "general", "input_feeding": False}, 2),
        ({"wiring": "luong", "scope": "local_p", "window": 1}, 1),
        ({"wiring": "luong", "score": "scaled_general", "heads": 2}, 1),
        ({"wiring": "none"}, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("fast", [True, False])
def test_bf16_is_float32_but_for_its_rounding(attention: dict[str, Any], layers: int, fast: bool) -> None:
    changes, nlls = {}, {}
    for name in ("float32", "bf16"):
        sizes = {"hidden_size": 8, "layers": layers, "dropout": 0}
        model = make_model(attention=attention, embedding_size=8, encoder=sizes, decoder=sizes).float()
        changes[name], nlls[name] = change(model, [collate(EXAMPLES)], precision=name, fast=fast)
        assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert nlls["bf16"] != nlls["float32"]
    assert nlls["bf16"] == pytest.approx(nlls["float32"], rel=5e-3)
    error = (changes["bf16"] - changes["float32"]).norm() / changes["float32"].norm()
    assert error < 0.05  # both have 8 bits


def test_an_update_narrows_the_window_by_the_updates_done() -> None:
    narrowing = {"scope": "local_p", "window": 1, "narrow_from": 4, "narrow_updates": 2}
    losses, config = [], TrainingConfig(precision="float32")
    for global_step in (0, 1, 2, 9):
        model = make_model("luong", attention=narrowing)
        losses.append(update(new_train_state(model, config), [collate(EXAMPLES)], config, 0.0, global_step))
    assert len(set(losses[:3])) == 3
    assert losses[3] == losses[2] == pytest.approx(batch_loss(model, collate(EXAMPLES), 0.0).nll.item())


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_the_first_step_of_a_weight_that_waited_is_a_first_step(optimizer: str) -> None:
    """Adam's first step is the rate in each number, and three updates of gradients 0 must not make it a fourth."""
    model = make_model("luong", attention=NARROWING)
    config = TrainingConfig.model_validate({"optimizer": optimizer, "clip_norm": None})
    train_state = new_train_state(model, config)
    weights = [weight for name, weight in model.named_parameters() if ".scope." in name]
    assert len(weights) == 2
    before = [weight.detach().clone() for weight in weights]
    for global_step in range(4):
        assert all(torch.equal(*pair) for pair in zip(weights, before, strict=True))
        update(train_state, [collate(EXAMPLES)], config, 0.01, global_step)
    changes = [(weight.detach() - old).abs() for weight, old in zip(weights, before, strict=True)]
    assert all(change.max().item() == pytest.approx(0.01, rel=1e-3) for change in changes)


@pytest.mark.parametrize(("momentum", "kept"), [(0.0, 0.99), (0.5, 1.0)])
def test_without_a_gradient_a_weight_decays_unless_it_waits_for_its_moments(momentum: float, kept: float) -> None:
    model = make_model("luong", attention=NARROWING, tied_embeddings="target", embedding_size=7)
    sgd = {"optimizer": "sgd", "momentum": momentum, "weight_decay": 0.1}
    config = TrainingConfig.model_validate(sgd)
    train_state = new_train_state(model, config)
    weights = [weight for name, weight in model.named_parameters() if ".scope." in name]
    before = [weight.detach().clone() for weight in weights]
    update(train_state, [collate(EXAMPLES)], config, 0.1, 0)
    for weight, old in zip(weights, before, strict=True):
        torch.testing.assert_close(weight.detach(), kept * old)
    (group,) = train_state.optimizer.param_groups
    assert (group["lr"], group["weight_decay"]) == (0.1, 0.1)
    assert len(group["params"]) == len(list(model.parameters()))
