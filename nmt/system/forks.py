"""Parts of a computation by copies of this process, each on one of the processor's threads.

Threads that share each operation of a search wait for each other thousands of times a second. Copies that compute parts
of their own do not. A copy (fork) starts in milliseconds, and sees models and data where they lie in memory.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar

import torch

from nmt.system.errors import UserError

Result = TypeVar("Result")


def copies(parts: int) -> int:
    """How many processes should compute so many parts of about the same size: as many as threads, or 1.

    1 stands for this process with all of its threads: if there are too few parts, if this system has no copies that are
    safe (they are on Linux), or if this process is a daemon of `multiprocessing`, which may have no processes.
    """
    threads = torch.get_num_threads()
    return threads if possible() and parts >= threads else 1


def possible() -> bool:
    """Whether this process may have copies."""
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def by_copies(function: Callable[[int], Result], parts: int, processes: int) -> list[Result]:
    """What `function` returns for 0, 1, … `parts` − 1, computed by this process and its copies, each on one thread.

    Whoever is ready takes the next part. Results must be picklable. Raises what `function` raises in any of them, or
    `UserError` if a copy is killed.
    """
    context = multiprocessing.get_context("fork")
    taken = context.Value("q", 0)
    first = os.getpid()

    def numbers() -> Iterator[int]:
        while first in (os.getpid(), os.getppid()):  # a copy stops where the first process was killed
            with taken.get_lock():
                number = taken.value
                taken.value += 1
            if number >= parts:
                return
            yield number

    def answer(connection: Connection) -> None:
        for end in (here, *(other for _, other in forks)):  # or nobody would learn that the first process has gone
            end.close()
        _answer(function, numbers(), connection)

    forks: list[tuple[ForkProcess, Connection]] = []
    try:
        with _on_one_thread():
            for _ in range(processes - 1):
                here, there = context.Pipe(duplex=False)
                process = context.Process(target=answer, args=(there,), daemon=True)
                with warnings.catch_warnings():  # copies of a process with threads: its own are at rest
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
                there.close()
                forks.append((process, here))
            results = {number: function(number) for number in numbers()}
        for _, here in forks:
            results.update(_received(here))
    finally:
        for process, here in forks:
            here.close()
            process.kill()
            process.join()
    return [results[number] for number in range(parts)]


def _answer(function: Callable[[int], Any], numbers: Iterator[int], connection: Connection) -> None:
    """A copy's work: its results by their numbers, or what was raised."""
    for number in (signal.SIGINT, signal.SIGTERM):  # to the whole group: the first process decides
        signal.signal(number, signal.SIG_IGN)
    answered: Any
    try:
        answered = [(number, function(number)) for number in numbers]
    except Exception as error:  # whatever it is, it is raised where it can be explained
        answered = error
    # As Connection.send, whose pickler PyTorch changes: it would share tensors in further files.
    with suppress(BrokenPipeError):
        connection.send_bytes(pickle.dumps(answered))


def _received(connection: Connection) -> Any:
    try:
        answered = pickle.loads(connection.recv_bytes())
    except (EOFError, OSError):
        raise UserError(
            "a process that computed a part of the work was killed: is there enough memory? "
            "With one thread, no further process is started"
        ) from None
    if isinstance(answered, Exception):
        raise answered
    return answered


@contextmanager
def _on_one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
