"""Which precision a run's products have: the config's, that of the run's first part, or the fastest one."""

from __future__ import annotations

from typing import NamedTuple, cast, get_args

import torch

from nmt.config.run import Config
from nmt.config.training import TrainingConfig
from nmt.kernels import in_use, private
from nmt.kernels.processor import Precision, fastest_precision, this_processor
from nmt.training.distributed import ALONE, World


class Chosen(NamedTuple):
    precision: Precision
    reason: str | None
    """Why it was chosen; None if the config names it."""


def choose_precision(
    wanted: str,
    device: torch.device,
    recorded: str | None = None,
    world: World = ALONE,
    *,
    in_graphs: bool = True,
) -> Chosen:
    """The precision that `training.precision` asks for: itself, or for `auto` what fits the device.

    `recorded` is the precision of the checkpoint that training continues from: for the same bits it stays, wherever the
    rest is trained. But int8 is only for the fast kernels on a processor. `in_graphs` says whether one GPU can record
    the model's updates (`Recorder.is_possible`). Several processes follow the first one. Every process must call it.
    """
    chosen = _choose(wanted, device, recorded, in_graphs=in_graphs and world.size == 1)
    known: tuple[Precision, ...] = get_args(Precision)
    [place] = world.total(world.is_main * known.index(chosen.precision))
    return chosen._replace(precision=known[int(place)])


def with_precision(config: Config, precision: Precision) -> Config:
    """The config as it is kept in checkpoints, where training finds the precision again."""
    training: TrainingConfig = config.training.model_copy(update={"precision": precision})
    return config.model_copy(update={"training": training})


def _choose(wanted: str, device: torch.device, recorded: str | None, *, in_graphs: bool) -> Chosen:
    has_int8 = device.type == "cpu" and in_use() == "fast"
    for named, reason in ((wanted, None), (recorded, "as before")):
        if named in get_args(Precision) and (named != "int8" or has_int8):
            return Chosen(cast(Precision, named), reason)
    if in_use() == "plain":
        return Chosen("float32", "the plain kernels")
    if device.type != "cpu" and not in_graphs:
        return Chosen("float32", "bf16 was not measured without CUDA graphs")
    precision, reason = fastest_precision(this_processor(), device)
    if precision == "int8" and not private.has_byte_product():
        return Chosen("float32", "PyTorch's product of 8-bit numbers fails here")
    return Chosen(precision, reason)
