"""A second process that computes half of each batch, on the other half of the processor's threads.

Threads that share each operation wait for each other thousands of times an update, and pull its numbers out of each
other's caches; threads with halves of their own would wait for each other in Python. So the other half of a batch goes
to a process of its own. The weights lie in memory that both see, and so do the gradients of the partner.
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
from nmt.kernels.dropout import drawing_from
from nmt.kernels.precision import products_in
from nmt.kernels.processor import Precision
from nmt.system.denormals import flush_denormals
from nmt.system.device import keep_freed_memory
from nmt.system.errors import UserError
from nmt.training.loss import BatchLoss

Gradients = Sequence[Tensor | None]


class Part(NamedTuple):
    """Some sentences of a batch, what its dropout is drawn from, and `Seq2Seq.forward`'s other arguments."""

    batch: Batch
    seed: int
    use_reference: Bool[Tensor, "B T"] | None
    done: int
    precision: Precision


def gradients_of(losses: BatchLoss, part: Part) -> tuple[Float[Tensor, ""], Gradients]:
    """The summed NLL of a part, in nats, and its gradient of each weight; None of a weight that it does not reach."""
    generator = torch.Generator().manual_seed(part.seed)
    with products_in(part.precision), drawing_from(generator):
        loss = losses(part.batch, part.use_reference, part.done)
        return loss.nll.detach(), torch.autograd.grad(loss.smoothed, list(losses.parameters()), allow_unused=True)


class Partner:
    """The process, which starts at the first part, and ends with `close` or when this process ends, however it does."""

    def __init__(self, losses: BatchLoss) -> None:
        self.losses = losses
        self._gradients: list[Tensor] | None = None

    @staticmethod
    def is_possible() -> bool:
        """Whether this system has memory that two processes can share without a file."""
        return hasattr(os, "memfd_create")

    def begin(self, part: Part) -> None:
        """Have the process compute the gradient of a part."""
        if self._gradients is None:
            self._gradients = self._start()
        self._send(part)

    def end(self) -> tuple[Float[Tensor, ""], Gradients]:
        """What `gradients_of` gives, of the part that `begin` got. The gradients hold until the next `begin`.

        Raises what the process raised, or `UserError` if it is gone.
        """
        assert self._gradients is not None
        try:
            result = _receive(self._connection)
        except (EOFError, OSError):
            raise _lost() from None
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
        shared = 2 * sum(_size(weight) for weight in self.losses.parameters())  # which this process has, too
        return max(0, 1024 * sum(map(int, re.findall(r"VmHWM:\s*(\d+) kB", status))) - shared)

    def close(self) -> None:
        """End the process, if it was started."""
        if self._gradients is not None:
            self._gradients = None
            self._stop()

    def _send(self, message: object) -> None:
        try:
            _send(self._connection, message)
        except OSError:
            raise _lost() from None

    def _start(self) -> list[Tensor]:
        weights = list(self.losses.parameters())
        memory = os.memfd_create("nmt")
        os.ftruncate(memory, 2 * sum(_size(weight) for weight in weights))
        shared, gradients = _tensors(memory, weights)
        for weight, place in zip(weights, shared, strict=True):
            weight.data = place.copy_(weight.data)
        here, there = socket.socketpair()
        process = subprocess.Popen(
            [sys.executable, "-c", "from nmt.training.partner import serve; serve()", str(memory)],
            stdin=there.fileno(),
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[memory],
            start_new_session=True,  # Ctrl-C is for this process, also before the other one ignores it
        )
        there.close()
        os.close(memory)
        self._connection = Connection(here.detach())
        self._process = process
        self._stop = weakref.finalize(self, _end, self._connection, process)
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


def _lost() -> UserError:
    return UserError(
        "the process that computes half of each batch was lost (killed, perhaps for want of memory); continue with "
        "--resume, and with training.threads=1 if it happens again"
    )


def serve() -> None:
    """The process: compute the gradients of parts, until the one that sends them is gone."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # to all processes of a service: the other one decides what happens
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    connection = Connection(os.dup(0))
    try:
        threads, losses = _receive(connection)
        torch.set_num_threads(threads)
        flush_denormals()
        keep_freed_memory()
        weights = list(losses.parameters())
        shared, gradients = _tensors(int(sys.argv[1]), weights)
        for weight, place in zip(weights, shared, strict=True):
            weight.data = place
        while True:
            _send(connection, _answer(losses, _receive(connection), gradients))
    except (EOFError, OSError):
        pass


def _answer(losses: BatchLoss, part: Part, places: Sequence[Tensor]) -> tuple[Tensor, list[bool]] | Exception:
    try:
        nll, gradients = gradients_of(losses, part)
    except Exception as error:  # whatever it is, it is raised where training can explain it
        return error
    for place, gradient in zip(places, gradients, strict=True):
        if gradient is not None:
            place.copy_(gradient)
    return nll, [gradient is not None for gradient in gradients]


def _tensors(memory: int, weights: Sequence[nn.Parameter]) -> tuple[list[Tensor], list[Tensor]]:
    """Tensors in a memory file like the weights: for themselves, and for their gradients."""
    buffer = mmap.mmap(memory, 0)
    places = iter(_places(buffer, [*weights, *weights]))
    return [next(places) for _ in weights], list(places)


def _places(buffer: mmap.mmap, tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    begin = 0
    for tensor in tensors:
        yield torch.frombuffer(buffer, dtype=tensor.dtype, count=tensor.numel(), offset=begin).view(tensor.shape)
        begin += _size(tensor)


def _size(tensor: Tensor) -> int:
    """The bytes of a tensor, up to where the next one may begin."""
    return -(-tensor.numel() * tensor.element_size() // 64) * 64
