"""The process that computes half of each batch: the same update as without it, and what happens when it is lost."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.config.training import TrainingConfig
from nmt.data.batching import Batch, Example, collate
from nmt.kernels.byte_products import ENOUGH
from nmt.kernels.processor import Precision
from nmt.kernels.sampled_types import TypeSampler
from nmt.system.errors import UserError
from nmt.training import gradient
from nmt.training.learner import Learner, make_learner
from nmt.training.partner import Gradients, Part, Partner, gradients_of
from nmt.training.update import update

TYPES = 11


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def random_batch(sentences: int, seed: int) -> Batch:
    random = torch.Generator().manual_seed(seed)

    def ids() -> list[int]:
        length = int(torch.randint(1, 9, (1,), generator=random))
        return torch.randint(4, TYPES, (length,), generator=random).tolist()

    return collate([Example(ids(), ids()) for _ in range(sentences)])


def learner_of(config: TrainingConfig, dropout: float = 0.0, types: int = TYPES, **model: Any) -> Learner:
    sizes = {"hidden_size": 8, "dropout": dropout}
    settings = {"embedding_size": 8, "embedding_dropout": dropout, "encoder": sizes, "decoder": sizes, **model}
    torch.manual_seed(1)
    built = build_model(ModelConfig.model_validate(settings), types, types).train()
    sampled = config.sampled_softmax
    learner = make_learner(built, config, sampler=None if sampled is None else TypeSampler(torch.ones(TYPES), sampled))
    return learner._replace(optimizer=torch.optim.SGD(built.parameters(), lr=1.0))


def weights_after(learner: Learner, config: TrainingConfig) -> tuple[Tensor, list[float]]:
    """The weights after two updates, and the NLLs. Teacher forcing tosses the same coins in one process and in two."""
    nlls = []
    for number in range(2):
        torch.manual_seed(number)
        batches = [random_batch(33 + seed, 10 * number + seed) for seed in range(config.accumulate)]
        nlls.append(update(learner, batches, config, 0.1, done=number))
    learner.close()
    return torch.nn.utils.parameters_to_vector(learner.model.parameters()).detach(), nlls


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        ({}, {"accumulate": 2}),
        ({"attention": {"wiring": "luong"}}, {"teacher_forcing": {"ratio": 0.5}}),
        ({"attention": {"wiring": "none"}}, {"precision": "bf16"}),
        ({"tied_embeddings": "target"}, {"r_drop": 1.0}),
        ({"tied_embeddings": "target"}, {"sampled_softmax": TYPES}),  # all of them: each process draws its own
    ],
    ids=str,
)
def test_two_processes_make_the_update_of_one(more: dict[str, Any], settings: dict[str, Any]) -> None:
    config = TrainingConfig.model_validate({"precision": "float32", "clip_norm": 0.5, **settings})
    alone, nll_alone = weights_after(learner_of(config, **more)._replace(partner=None), config)
    learner = learner_of(config, **more)
    together, nll = weights_after(learner, config)
    tolerance = 0.02 if config.precision == "bf16" else 1e-5
    torch.testing.assert_close(together, alone, rtol=tolerance, atol=tolerance)
    assert nll == pytest.approx(nll_alone, rel=tolerance)
    assert (together - alone).abs().max() > 0  # it was another process that summed them


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_the_other_process_has_the_precision_of_this_one(precision: Precision) -> None:
    # Enough for products in int8, the output layer's included, which draw numbers.
    sizes = {"attention": {"wiring": "luong"}, "decoder": {"hidden_size": 512, "dropout": 0}}
    learner = learner_of(TrainingConfig(), types=ENOUGH // 512, **sizes)
    assert learner.partner is not None
    part = Part(random_batch(16, 1), 1, None, 0, precision)
    learner.partner.begin(part)
    _, there = learner.partner.end()
    torch.set_num_threads(1)
    assert same(gradients_of(learner.losses, part)[1], there)
    for other in {"float32", "bf16", "int8"} - {precision}:
        assert not same(gradients_of(learner.losses, part._replace(precision=other))[1], there)
    learner.close()


def same(left: Gradients, right: Gradients) -> bool:
    return all(torch.equal(one, other) for one, other in zip(left, right, strict=True) if one is not None)


def test_a_weight_that_only_the_other_process_reaches_gets_the_sum_of_all_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = learner_of(TrainingConfig(precision="float32"))
    reached: list[list[Tensor]] = []
    end = Partner.end

    def noting(partner: Partner) -> tuple[Tensor, Gradients]:
        nll, gradients = end(partner)
        reached.append([x.clone() for x in gradients if x is not None])
        return nll, gradients

    monkeypatch.setattr(Partner, "end", noting)
    weights = list(learner.losses.parameters())
    monkeypatch.setattr(gradient, "gradients_of", lambda *_: (torch.zeros(()), [None] * len(weights)))
    for seed in (1, 2):
        gradient.add_gradient(learner, random_batch(40, seed), None, 0, "float32")
    learner.close()
    sums = [first + second for first, second in zip(*reached, strict=True)]
    assert same([weight.grad for weight in weights if weight.grad is not None], sums)
    assert not same(reached[0], reached[1])


def test_what_two_processes_draw_is_drawn_from_the_seed_alone() -> None:
    """The masks of dropout, and the types of a sampled softmax."""
    config = TrainingConfig(precision="float32", sampled_softmax=1)
    first, again = (weights_after(learner_of(config, dropout=0.5), config)[0] for _ in range(2))
    assert torch.equal(first, again)
    plain = TrainingConfig(precision="float32")
    without, _ = weights_after(learner_of(plain), plain)
    assert not torch.allclose(first, without, atol=1e-3)


def test_halves_draw_different_dropout() -> None:
    """With the same sentences in both halves, the halves' gradients would be the same if their draws were."""
    config = TrainingConfig(precision="float32")
    learner = learner_of(config, dropout=0.5)
    batch = collate([Example([5, 6, 7], [8, 9])] * 40)
    found = []
    assert learner.partner is not None
    for seed in (1, 2):
        learner.partner.begin(Part(batch, seed, None, 0, "float32"))
        found.append(learner.partner.end()[0].item())
    learner.close()
    assert found[0] != found[1]


def test_an_odd_thread_is_left_to_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    send = Partner._send
    monkeypatch.setattr(Partner, "_send", lambda partner, message: (sent.append(message), send(partner, message)))
    config = TrainingConfig(precision="float32")
    learner = learner_of(config)
    torch.set_num_threads(3)
    update(learner, [random_batch(40, 1)], config, 0.1, done=0)
    learner.close()
    assert torch.get_num_threads() == 3
    (threads, _), _ = sent
    assert threads == 1


def test_what_the_process_raises_is_raised_here_and_it_goes_on() -> None:
    learner = learner_of(TrainingConfig(precision="float32"))
    partner = learner.partner
    assert partner is not None
    good, bad = random_batch(40, 1), collate([Example([TYPES], [4])])
    partner.begin(Part(bad, 1, None, 0, "float32"))
    with pytest.raises(IndexError):
        partner.end()
    partner.begin(Part(good, 1, None, 0, "float32"))
    assert partner.end()[0].isfinite()
    partner.close()


def test_a_lost_process_is_a_clear_error() -> None:
    config = TrainingConfig(precision="float32")
    learner = learner_of(config)
    update(learner, [random_batch(40, 1)], config, 0.1, done=0)
    [process] = partners()
    os.kill(process, signal.SIGKILL)
    with pytest.raises(UserError, match=r"half of each batch was lost .* continue with --resume"):
        update(learner, [random_batch(40, 1)], config, 0.1, done=1)
    learner.close()
    assert partners() == []


def test_the_process_ignores_signals_to_its_group_and_ends_with_the_learner() -> None:
    config = TrainingConfig(precision="float32")
    learner = learner_of(config)
    for number in range(2):
        update(learner, [random_batch(40, 1)], config, 0.1, done=number)
        [process] = partners()
        assert os.getsid(process) == process  # so that Ctrl-C does not reach it before it ignores it
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(process, name)
    del learner
    gc.collect()
    assert partners() == []


def test_small_batches_and_single_threads_start_no_process() -> None:
    config = TrainingConfig(precision="float32")
    learner = learner_of(config)
    update(learner, [random_batch(31, 1)], config, 0.1, done=0)
    torch.set_num_threads(1)
    update(learner, [random_batch(40, 1)], config, 0.1, done=1)
    assert partners() == []
    assert Partner.is_possible()


def partners() -> list[int]:
    """The partners that this process has started and that still run."""
    started = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in started if b"partner" in Path(f"/proc/{pid}/cmdline").read_bytes()]
