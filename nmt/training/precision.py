"""The precision of a run's products: the config's, that of the checkpoint it continues from, or the fastest one."""

from __future__ import annotations

from typing import NamedTuple

import torch

from nmt import acceleration
from nmt.config.run import Config
from nmt.config.training import TrainingConfig
from nmt.system.processor import Precision
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup

TRAINABLE: tuple[Precision, ...] = ("float32", "bf16")


class Choice(NamedTuple):
    precision: Precision
    reason: str | None
    """Why it was chosen; None if the config names it."""


def choose_precision(
    config: Config,
    device: torch.device,
    recorded: str | None = None,
    group: ProcessGroup = SINGLE_PROCESS,
) -> Choice:
    """The precision that `training.precision` names: itself, or for `auto` what the device multiplies faster.

    On a GPU bf16 was measured with CUDA graphs alone: in one process, with attention to all positions, or none.
    `recorded` is the precision of the checkpoint that training continues from: for the same bits it stays, wherever the
    rest is trained. Several processes follow the first one. Every process must call it.
    """
    training, attention = config.training, config.model.attention
    in_graphs = group.size == 1 and (attention.wiring == "none" or attention.scope == "global")
    if training.precision != "auto":
        choice = Choice(training.precision, None)
    elif recorded in TRAINABLE:
        choice = Choice(recorded, "as before")
    elif device.type != "cpu" and not in_graphs:
        choice = Choice("float32", "bf16 was not measured without CUDA graphs")
    else:
        precision = acceleration.resolve_precision("auto", device, "training", fast=training.fast)
        reason = "multiplied faster here" if precision == "bf16" else "bf16 is not known to be faster here"
        choice = Choice(precision, reason if training.fast else "plain PyTorch")
    [index] = group.total(group.is_main * TRAINABLE.index(choice.precision))
    return choice._replace(precision=TRAINABLE[int(index)])


def with_precision(config: Config, precision: Precision) -> Config:
    """The config as it is kept in checkpoints, where training finds the precision again."""
    training: TrainingConfig = config.training.model_copy(update={"precision": precision})
    return config.model_copy(update={"training": training})
