"""Several processes, started by torchrun, train one model together: each computes its shard of every batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple, TypeVar

import torch
from torch import distributed
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from nmt.system.errors import UserError

Value = TypeVar("Value")


class ProcessGroup(NamedTuple):
    """The processes that train one model: the rank of this one, and their number."""

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
        values = [value] * self.size
        if self.size > 1:
            distributed.all_gather_object(values, value)
        return values

    def wait(self) -> None:
        """Wait until every process has called this."""
        self.total(0)

    def shard(self, values: Sequence[Value]) -> Sequence[Value]:
        """This process's share of a batch's examples, or of a set's batches: every `size`-th one."""
        return values[self.rank :: self.size]


SINGLE_PROCESS = ProcessGroup()


@contextmanager
def connect_processes() -> Iterator[ProcessGroup]:
    """Connect to the processes that torchrun has started, until the block ends. Raises `UserError` if one is lost."""
    if not distributed.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
        yield SINGLE_PROCESS
        return
    timeout = timedelta(hours=6)  # while one of them prepares a large corpus
    store, rank, size = next(rendezvous("env://", timeout=timeout))
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        # After a restart, torchrun's store still holds the addresses of the processes that have ended. Several machines
        # count their restarts separately, and need TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 instead.
        store = PrefixStore(f"restart {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
    try:
        yield ProcessGroup(rank, size)
    except RuntimeError as error:
        if isinstance(error, distributed.DistError) or any(word in str(error) for word in ("gloo", "onnection")):
            raise UserError("another process of this training was lost: continue with --resume") from error
        raise
    finally:
        distributed.destroy_process_group()


def local_device(device: torch.device) -> torch.device:
    """The GPU of this process, where there are several; any other device unchanged."""
    if device.type == "cuda" and device.index is None and "LOCAL_RANK" in os.environ:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    return device
