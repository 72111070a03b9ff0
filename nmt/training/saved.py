"""What a checkpoint holds so that training goes on with the same bits, and how it is taken back from one."""

from __future__ import annotations

import math
import random
from dataclasses import asdict
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from nmt.checkpoint.contents import check_weights
from nmt.checkpoint.file import DamagedFile
from nmt.config.reading import explain
from nmt.system.errors import UserError, shown
from nmt.training.distributed import Ranks
from nmt.training.learner import Learner
from nmt.training.state import State


class _Saved(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    state: State
    optimizer: dict[int, dict[str, Tensor]]  # of each parameter, in the model's order
    average: dict[str, Tensor] | None
    text: str  # a digest of all training text
    random: list[Tensor]  # of each process
    random_cuda: list[Tensor | None]
    metrics_size: Annotated[int, Field(ge=0, lt=2**63)]


def own_random_numbers(seed: int, ranks: Ranks) -> None:
    """Have each process draw other random numbers; the first goes on with those of its seed."""
    if not ranks.leads:
        torch.manual_seed(random.Random(f"{seed} {ranks.rank}").getrandbits(63))


def saved(state: State, learner: Learner, text: str, metrics_size: int, ranks: Ranks) -> dict[str, Any]:
    """All that training needs beside model and config, as plain values and tensors. All processes must take part.

    `text` is a digest of the training text.
    """
    cuda = learner.model.device.type == "cuda"
    generators = ranks.gather((torch.get_rng_state(), torch.cuda.get_rng_state() if cuda else None))
    return {
        "state": asdict(state),
        "optimizer": learner.optimizer.state_dict()["state"],
        "average": None if learner.average is None else dict(learner.average.model.state_dict()),
        "text": text,
        "random": [cpu for cpu, _ in generators],
        "random_cuda": [gpu for _, gpu in generators],
        "metrics_size": metrics_size,
    }


def restore(learner: Learner, training: dict[str, Any], path: str, ranks: Ranks) -> tuple[State, int]:
    """Put the learner and the random generators where they were; returns where training stood, and the metrics' size.

    Raises `DamagedFile`, with the checkpoint's path, if the parts do not fit together, `UserError` if there were more
    or fewer processes.
    """
    try:
        found = _Saved.model_validate(training)
    except ValidationError as error:
        raise DamagedFile(f"{path} cannot be resumed from: {explain(error)}") from None
    _check_state(found.state, path)
    moments = {
        f"{kind} of parameter {number}": tensor
        for number, of_parameter in found.optimizer.items()
        for kind, tensor in of_parameter.items()
    }
    check_weights(f"{path}: optimizer", _needed_moments(learner) if moments else {}, moments)
    for name, moment in moments.items():
        if not name.startswith("exp_avg of") and bool((moment < 0).any()):  # squares, and numbers of updates
            raise DamagedFile(f"{path}: optimizer: {name} is negative: use another copy")
    groups = learner.optimizer.state_dict()["param_groups"]
    learner.optimizer.load_state_dict({"state": found.optimizer, "param_groups": groups})
    averaged = None if learner.average is None else learner.average.model
    check_weights(f"{path}: average", {} if averaged is None else averaged.state_dict(), found.average or {})
    if averaged is not None and found.average is not None:
        averaged.load_state_dict(found.average)
    if len(found.random) != ranks.count or len(found.random_cuda) != ranks.count:
        raise UserError(
            f"{path} was trained by {len(found.random)} processes, and now there are {ranks.count}: resume with as many"
        )
    try:
        torch.set_rng_state(found.random[ranks.rank])
        gpu = found.random_cuda[ranks.rank]
        if gpu is not None and learner.model.device.type == "cuda":
            torch.cuda.set_rng_state(gpu)
    except (RuntimeError, TypeError) as error:
        raise DamagedFile(f"{path}: its state of the random generator cannot be used ({error})") from None
    return found.state, found.metrics_size


def _check_state(state: State, path: str) -> None:
    """Raise `DamagedFile` unless training can have stood there: nothing negative, nothing that is not a number."""
    for name, value in asdict(state).items():
        if value is not None and not (0 <= value < 2**63 or (name == "best_loss" and value == math.inf)):
            raise DamagedFile(f"{path}: training.state.{name} cannot be {shown(value)}: use another copy")
    if state.validated > state.update:
        raise DamagedFile(f"{path}: training.state.validated is above update: use another copy")


def _needed_moments(learner: Learner) -> dict[str, Tensor]:
    needed: dict[str, Tensor] = {}
    for number, parameter in enumerate(learner.model.parameters()):
        needed |= {f"{kind} of parameter {number}": parameter for kind in ("exp_avg", "exp_avg_sq")}
        needed[f"step of parameter {number}"] = torch.zeros(())
    return needed
