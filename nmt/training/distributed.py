"""The processes that train one model together, each on its part of every batch: those that torchrun has started."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import distributed
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from nmt.system.errors import UserError

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ranks:
    """Which process this is, and how many there are. By default it is the only one."""

    rank: int = 0
    count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the one that writes and prints."""
        return self.rank == 0

    def total(self, *values: int | float) -> list[float]:
        """The sum of each value over all processes, all of which must ask for it."""
        if self.count == 1:
            return [float(value) for value in values]
        sums = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(sums)
        return sums.tolist()

    def gather(self, value: Value) -> list[Value]:
        """What each process gives, in the order of their ranks; all must take part."""
        if self.count == 1:
            return [value]
        values: list[Value] = [value] * self.count
        distributed.all_gather_object(values, value)
        return values

    def share(self, numbers: Sequence[int], lengths: NDArray[np.int32]) -> list[int]:
        """This process's part of some examples, given all their lengths: every part has about as many tokens.

        The longest first, each goes to the part that has the fewest tokens so far.
        """
        if self.count == 1:
            return list(numbers)
        parts: list[list[int]] = [[] for _ in range(self.count)]
        tokens = [0] * self.count
        for number in sorted(numbers, key=lambda number: -int(lengths[number])):
            part = tokens.index(min(tokens))
            parts[part].append(number)
            tokens[part] += int(lengths[number]) + 1  # for the end mark
        return parts[self.rank]

    def batches(self, order: Sequence[int], size: int) -> list[int]:
        """This process's part of what is read in this order, in batches of this size: every count-th batch, whole."""
        begins = range(self.rank * size, len(order), self.count * size)
        return [number for begin in begins for number in order[begin : begin + size]]


ALONE = Ranks()


def job() -> str | None:
    """What all processes that one torchrun starts share, after failures too, and no others; None without torchrun.

    Its own name may be used again, but not the folder in which it awaits what goes wrong in each attempt.
    """
    if not distributed.is_torchelastic_launched():
        return None
    folder = os.environ.get("TORCHELASTIC_ERROR_FILE", "").partition("/attempt_")[0]
    return f"{os.environ['TORCHELASTIC_RUN_ID']} {folder}"


def restarted() -> bool:
    """Whether torchrun has started the processes anew after one had failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def joined() -> Iterator[Ranks]:
    """Join the processes that torchrun has started together with this one, until the block ends.

    Raises `UserError` if another of them is lost.
    """
    if not distributed.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
        yield ALONE
        return
    timeout = timedelta(hours=6)  # while one of them prepares a large corpus
    store, rank, count = next(rendezvous("env://", timeout=timeout))
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        # A machine's torchrun keeps its store when it starts the processes anew, with the addresses of the ended ones.
        # Several machines count their restarts apart, and must be told TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1.
        store = PrefixStore(f"restart {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=timeout)
    try:
        yield Ranks(rank, count)
    except RuntimeError as error:
        if isinstance(error, distributed.DistError) or any(word in str(error) for word in ("gloo", "onnection")):
            raise UserError(
                "another process of this training was lost, so that this one ends too: see what was said before, "
                "and go on with --resume"
            ) from error
        raise
    finally:
        distributed.destroy_process_group()


def this_device(device: torch.device) -> torch.device:
    """Of several GPUs that of this process; another device as it is."""
    if device.type == "cuda" and device.index is None and "LOCAL_RANK" in os.environ:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    return device
