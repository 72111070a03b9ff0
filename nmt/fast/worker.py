"""A data-parallel worker: a second process that computes half of each batch, on half of the CPU's threads.

Threads that share each operation wait for each other thousands of times an update, and pull its values out of each
other's caches; threads with halves of their own would wait for each other in Python. So the other half of a batch goes
to a process of its own. The weights are in memory that both map, and so are the gradients of the worker.
"""

from __future__ import annotations

import mmap
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.fast.dropout import drawing_from
from nmt.fast.precision import products_in
from nmt.system.denormals import flush_denormals
from nmt.system.device import keep_freed_memory
from nmt.system.errors import UserError
from nmt.system.processor import Precision
from nmt.training.loss import BatchLoss
from nmt.training.update import set_global_step

Gradients = Sequence[Tensor | None]


class Shard(NamedTuple):
    """Some sentences of a batch, the seed of their dropout, and what else decides their gradient."""

    batch: Batch
    seed: int
    teacher_forcing_mask: Bool[Tensor, "B T"] | None
    global_step: int
    precision: Precision


def gradients_of(losses: BatchLoss, shard: Shard) -> tuple[Float[Tensor, ""], Gradients]:
    """The summed NLL of a shard, in nats, and its gradient of each weight; None of a weight that it does not reach."""
    generator = torch.Generator().manual_seed(shard.seed)
    set_global_step(losses, shard.global_step)
    with products_in(shard.precision), drawing_from(generator):
        loss = losses(shard.batch, shard.teacher_forcing_mask)
        return loss.nll.detach(), torch.autograd.grad(loss.smoothed, list(losses.parameters()), allow_unused=True)


class Worker:
    """The process, which starts at the first shard, and ends when this object or this process does."""

    def __init__(self, losses: BatchLoss) -> None:
        self.losses = losses
        self._gradients: list[Tensor] | None = None

    @staticmethod
    def is_possible() -> bool:
        """Whether this system has memory that two processes can share without a file."""
        return hasattr(os, "memfd_create")

    def send(self, shard: Shard) -> None:
        """Have the process compute the gradient of a shard."""
        if self._gradients is None:
            self._gradients = self._start()
        self._send(shard)

    def receive(self) -> tuple[Float[Tensor, ""], Gradients]:
        """The results of `gradients_of` for the shard that was sent. The gradients are valid until the next `send`.

        Raises what the process raised, or `UserError` if it is gone.
        """
        assert self._gradients is not None
        try:
            result = _receive(self._connection)
        except (EOFError, OSError):
            raise _worker_lost() from None
        if isinstance(result, Exception):
            raise result
        nll, reached = result
        return nll, [x if is_reached else None for x, is_reached in zip(self._gradients, reached, strict=True)]

    @property
    def peak_memory(self) -> int:
        """The most bytes of memory that the process has had, or 0 if it was not started."""
        if self._gradients is None:
            return 0
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        shared = 2 * sum(_size(weight) for weight in self.losses.parameters())  # in this process, too
        return max(0, 1024 * sum(map(int, re.findall(r"VmHWM:\s*(\d+) kB", status))) - shared)

    def _send(self, message: object) -> None:
        try:
            _send(self._connection, message)
        except OSError:
            raise _worker_lost() from None

    def _start(self) -> list[Tensor]:
        weights = list(self.losses.parameters())
        memory = os.memfd_create("nmt")
        os.ftruncate(memory, 2 * sum(_size(weight) for weight in weights))
        shared, gradients = _tensors(memory, weights)
        for weight, tensor in zip(weights, shared, strict=True):
            weight.data = tensor.copy_(weight.data)
        own_end, other_end = socket.socketpair()
        process = subprocess.Popen(
            [sys.executable, "-c", "from nmt.fast.worker import serve; serve()", str(memory)],
            stdin=other_end.fileno(),
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[memory],
            start_new_session=True,  # Ctrl-C is for this process, also before the other one ignores it
        )
        other_end.close()
        os.close(memory)
        self._connection = Connection(own_end.detach())
        self._process = process
        weakref.finalize(self, _end, self._connection, process)
        self._send((max(1, torch.get_num_threads() // 2), self.losses))
        return gradients


def _send(connection: Connection, message: object) -> None:
    """As `Connection.send`, whose pickler PyTorch changes: it would share tensors in further files."""
    connection.send_bytes(pickle.dumps(message))


def _receive(connection: Connection) -> Any:
    return pickle.loads(connection.recv_bytes())


def _end(connection: Connection, process: subprocess.Popen[bytes]) -> None:
    connection.close()
    process.wait()


def _worker_lost() -> UserError:
    return UserError(
        "the worker process that computes half of each batch was lost (killed, perhaps for want of memory); continue "
        "with --resume, and with training.threads=1 if it happens again"
    )


def serve() -> None:
    """The process: compute the gradients of shards, until the process that sends them is gone."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # sent to all processes of a service: the other one handles it
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    connection = Connection(os.dup(0))
    try:
        threads, losses = _receive(connection)
        torch.set_num_threads(threads)
        flush_denormals()
        keep_freed_memory()
        weights = list(losses.parameters())
        shared, gradients = _tensors(int(sys.argv[1]), weights)
        for weight, tensor in zip(weights, shared, strict=True):
            weight.data = tensor
        while True:
            _send(connection, _result(losses, _receive(connection), gradients))
    except (EOFError, OSError):
        pass


def _result(losses: BatchLoss, shard: Shard, memory: Sequence[Tensor]) -> tuple[Tensor, list[bool]] | Exception:
    try:
        nll, gradients = gradients_of(losses, shard)
    except Exception as error:  # raised again in the process that trains
        return error
    for tensor, gradient in zip(memory, gradients, strict=True):
        if gradient is not None:
            tensor.copy_(gradient)
    return nll, [gradient is not None for gradient in gradients]


def _tensors(memory: int, weights: Sequence[nn.Parameter]) -> tuple[list[Tensor], list[Tensor]]:
    """Tensors in a memory file like the weights: for themselves, and for their gradients."""
    buffer = mmap.mmap(memory, 0)
    tensors = list(_in_buffer(buffer, [*weights, *weights]))
    return tensors[: len(weights)], tensors[len(weights) :]


def _in_buffer(buffer: mmap.mmap, tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    offset = 0
    for tensor in tensors:
        yield torch.frombuffer(buffer, dtype=tensor.dtype, count=tensor.numel(), offset=offset).view(tensor.shape)
        offset += _size(tensor)


def _size(tensor: Tensor) -> int:
    """The bytes of a tensor, up to where the next one may begin."""
    return -(-tensor.numel() * tensor.element_size() // 64) * 64
