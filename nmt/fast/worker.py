"""A data-parallel worker: a second process that computes half of each batch, on half of the CPU's threads.

Threads that share each operation wait for each other thousands of times an update, and pull its values out of each
other's caches; threads with halves of their own would wait for each other in Python. Both processes map the weights,
and the worker's gradients: not in /dev/shm, which containers limit to 64 MiB. The process is started as a command,
because `multiprocessing` would run the user's script in it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import re
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nmt.acceleration import Precision
from nmt.data.batching import Batch
from nmt.fast.processor import keep_freed_memory
from nmt.fast.products import products_in
from nmt.system.device import configure_process
from nmt.system.errors import UserError
from nmt.system.process_pool import child_environment
from nmt.training.loss import BatchLoss, Loss
from nmt.training.update import set_global_step

COMMAND = "from nmt.fast.worker import serve; serve()"


class Shard(NamedTuple):
    """Some sentences of a batch, and what else decides their loss: `seed` is that of their dropout."""

    batch: Batch
    teacher_forcing_mask: Bool[Tensor, "B T"] | None
    seed: int
    global_step: int


def half_of(batch: Batch, first: int) -> Batch:
    """Every other sentence, without the padding that these do not need."""
    source, source_lengths, *targets, target_lengths = (x[first::2] for x in vars(batch).values())
    target_input, target_output = (x[:, : int(target_lengths.max())].contiguous() for x in targets)
    source = source[:, : int(source_lengths.max())].contiguous()
    return Batch(source, source_lengths.contiguous(), target_input, target_output, target_lengths.contiguous())


def loss_of_shard(losses: BatchLoss, shard: Shard) -> Loss:
    """The loss of a shard. PyTorch's random generator stays as it was."""
    set_global_step(losses, shard.global_step)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(shard.seed)
        loss: Loss = losses(shard.batch, shard.teacher_forcing_mask)
    return loss


class Worker:
    """The process. It ends when this object or this process does, even if that is killed."""

    def __init__(self, losses: BatchLoss, precision: Precision) -> None:
        weights = list(losses.parameters())
        memory = os.memfd_create("nmt")
        os.ftruncate(memory, 2 * sum(map(_size, weights)))
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment(),
            pass_fds=[memory],
            start_new_session=True,  # Ctrl-C is for this process, also before the other one ignores it
        )
        weakref.finalize(self, self._process.communicate)  # closes its input, which ends it, and waits
        self.send((losses, precision, max(1, torch.get_num_threads() // 2)))
        self._gradients = _share(weights, memory)
        os.close(memory)

    @staticmethod
    def is_possible() -> bool:
        """Whether this system has memory that two processes can share without a file."""
        return hasattr(os, "memfd_create")

    def send(self, message: object) -> None:
        """Have the process compute the gradient of a `Shard`."""
        assert self._process.stdin is not None
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            raise _worker_lost() from None

    def receive(self) -> tuple[Float[Tensor, ""], list[Tensor | None]]:
        """The summed NLL of the shard that was sent, in nats, and its gradient of each weight, None if it reaches none.

        The gradients are valid until the next `send`. Raises what the process raised, or `UserError` if it is gone.
        """
        assert self._process.stdout is not None
        try:
            result = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise _worker_lost() from None
        if isinstance(result, Exception):
            raise result
        nll, reached = result
        return nll, [x if is_reached else None for x, is_reached in zip(self._gradients, reached, strict=True)]

    @property
    def peak_memory(self) -> int:
        """The most bytes of memory that the process has had for itself."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        shared = 2 * sum(map(_size, self._gradients))
        return max(0, 1024 * sum(map(int, re.findall(r"VmHWM:\s*(\d+) kB", status))) - shared)


def serve() -> None:
    """The process: compute the gradients of shards, until the process that sends them is gone."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # sent to all processes of a service: the other one handles it
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    messages, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what is printed is no result
    try:
        losses, precision, threads = pickle.load(messages)
        torch.set_num_threads(threads)
        configure_process()
        keep_freed_memory()
        torch.set_flush_denormal(True)
        gradients = _share(list(losses.parameters()), int(sys.argv[1]))
        while True:
            results.write(pickle.dumps(_result(losses, precision, pickle.load(messages), gradients)))
    except (EOFError, OSError, pickle.UnpicklingError):  # it may have been killed while it sent
        pass


def _result(
    losses: BatchLoss, precision: Precision, shard: Shard, memory: Sequence[Tensor]
) -> tuple[Tensor, list[bool]] | Exception:
    """The NLL of a shard, and which weights have a gradient, which is written to the memory; or what was raised."""
    try:
        with products_in(precision):
            loss = loss_of_shard(losses, shard)
            gradients = torch.autograd.grad(loss.smoothed, list(losses.parameters()), allow_unused=True)
    except Exception as error:  # raised again in the process that trains
        return error
    for tensor, gradient in zip(memory, gradients, strict=True):
        if gradient is not None:
            tensor.copy_(gradient)
    return loss.nll.detach(), [gradient is not None for gradient in gradients]


def _worker_lost() -> UserError:
    return UserError(
        "the worker process that computes half of each batch was lost (killed, perhaps for want of memory); continue "
        "with --resume, and with training.threads=1 if it happens again"
    )


def _share(weights: Sequence[Tensor], memory: int) -> list[Tensor]:
    """Move weights into a memory file; returns tensors in it for their gradients."""
    buffer, offset, tensors = mmap.mmap(memory, 0), 0, []
    for x in [*weights, *weights]:
        tensors.append(torch.frombuffer(buffer, dtype=x.dtype, count=x.numel(), offset=offset).view(x.shape))
        offset += _size(x)
    for weight, tensor in zip(weights, tensors, strict=False):
        weight.data = tensor.copy_(weight.data)
    return tensors[len(weights) :]


def _size(tensor: Tensor) -> int:
    """The bytes of a tensor, up to where the next one may begin."""
    return -(-tensor.numel() * tensor.element_size() // 64) * 64
