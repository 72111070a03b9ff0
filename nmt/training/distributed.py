"""Several processes, started by torchrun, train one model together: each computes its part of every batch."""

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
class World:
    """All processes that train one model, and which of them this is. By default it is the only one."""

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process writes the files and the messages."""
        return self.rank == 0

    def total(self, *values: int | float) -> list[float]:
        """The sum of each value over all processes. Every process must call it."""
        if self.size == 1:
            return [float(value) for value in values]
        sums = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(sums)
        return sums.tolist()

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, in the order of their ranks. Every process must call it."""
        if self.size == 1:
            return [value]
        values: list[Value] = [value] * self.size
        distributed.all_gather_object(values, value)
        return values

    def wait(self) -> None:
        """Wait until every process has called this."""
        self.total(0)

    def share(self, numbers: Sequence[int], lengths: NDArray[np.int32]) -> list[int]:
        """This process's part of some examples, given the lengths of all examples.

        All parts have about as many tokens: the longest examples come first, and each goes to the part with the fewest
        tokens so far.
        """
        if self.size == 1:
            return list(numbers)
        parts: list[list[int]] = [[] for _ in range(self.size)]
        tokens = [0] * self.size
        for number in sorted(numbers, key=lambda number: -int(lengths[number])):
            part = tokens.index(min(tokens))
            parts[part].append(number)
            tokens[part] += int(lengths[number]) + 1  # for the end mark
        return parts[self.rank]

    def batches(self, order: Sequence[int], batch_size: int) -> list[int]:
        """This process's part of an order that is read in batches: every size-th batch, undivided."""
        begins = range(self.rank * batch_size, len(order), self.size * batch_size)
        return [number for begin in begins for number in order[begin : begin + batch_size]]


ALONE = World()


def job() -> str | None:
    """A name that identifies one call of torchrun, the same in all its processes and restarts; None without torchrun.

    torchrun's own name for the job may be used again, so the folder in which it collects errors is part of the name.
    """
    if not distributed.is_torchelastic_launched():
        return None
    folder = os.environ.get("TORCHELASTIC_ERROR_FILE", "").partition("/attempt_")[0]
    return f"{os.environ['TORCHELASTIC_RUN_ID']} {folder}"


def restarted() -> bool:
    """Whether torchrun has restarted the processes after one of them failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def joined() -> Iterator[World]:
    """Connect to the other processes that torchrun has started, until the block ends.

    Raises `UserError` if the connection to another process is lost.
    """
    if not distributed.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
        yield ALONE
        return
    timeout = timedelta(hours=6)  # while one of them prepares a large corpus
    store, rank, count = next(rendezvous("env://", timeout=timeout))
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        # After a restart, torchrun's store still holds the addresses of the processes that have ended. Several machines
        # count their restarts separately, and need TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 instead.
        store = PrefixStore(f"restart {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=timeout)
    try:
        yield World(rank, count)
    except RuntimeError as error:
        if isinstance(error, distributed.DistError) or any(word in str(error) for word in ("gloo", "onnection")):
            raise UserError(
                "another process of this training was lost, so this one ends too: see its messages above, then "
                "continue with --resume"
            ) from error
        raise
    finally:
        distributed.destroy_process_group()


def this_device(device: torch.device) -> torch.device:
    """The GPU of this process, where there are several; any other device unchanged."""
    if device.type == "cuda" and device.index is None and "LOCAL_RANK" in os.environ:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    return device
