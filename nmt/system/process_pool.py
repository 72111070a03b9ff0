"""One pool of worker processes, for searching, for tokenising and for `--workers`."""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice, starmap
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from nmt.system.errors import UserError

Result = TypeVar("Result")
SAFE_PATH = "PYTHONSAFEPATH"  # set, Python does not import from the current folder only because it is that


def map_in_processes(
    function: Callable[..., Result],
    jobs: Iterable[tuple[object, ...]],
    workers: int | None = None,
    *,
    fork: bool = False,
) -> Iterator[Result]:
    """What a function returns for each job's arguments, in their order; at most twice as many jobs as workers wait.

    Workers are new processes, by default as many as cores, which import the function by its name. One worker, or one
    job, is this process. With `fork` they are copies of this process (Linux only) on one thread each, which share its
    memory, so that the function may be a closure. Workers leave signals to this process, and end with the iterator or
    with this process. Raises what the function raises, and `UserError` if a worker is killed.
    """
    count = workers or cores()
    remaining = iter(jobs)
    first = list(islice(remaining, 2)) if count > 1 else []
    if len(first) < 2:
        yield from starmap(function, chain(first, remaining))
        return
    context = multiprocessing.get_context("fork" if fork else "spawn")
    safe_path = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    stopped, stop = context.Pipe(duplex=False)  # `stopped` can be read once no process has the other end
    pool = ProcessPoolExecutor(count, context, initializer=_begin_worker, initargs=(function, stopped, stop, fork))
    waiting: deque[Future[bytes]] = deque()
    try:
        for job in chain(first, remaining):
            waiting.append(pool.submit(_work, *job))
            if len(waiting) > 2 * count:
                yield pickle.loads(waiting.popleft().result())
        while waiting:
            yield pickle.loads(waiting.popleft().result())
    except BrokenProcessPool:
        remedy = "is there enough memory? With one thread and one worker, no further process is started"
        raise UserError(f"a worker process was killed: {remedy}") from None
    finally:
        stop.close()  # a job that has begun is not waited for
        pool.shutdown(cancel_futures=True)
        stopped.close()
        if safe_path is None:
            os.environ.pop(SAFE_PATH, None)


def child_environment() -> dict[str, str]:
    """The environment of a Python process that imports what this one does, and nothing else from the current folder."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path), SAFE_PATH: "1"}


def cores() -> int:
    """How many CPU cores this process may use: fewer than the machine has under taskset, Slurm or in containers."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_fork() -> bool:
    """Whether copies of this process are safe (they are on Linux), and allowed: a daemon may have no processes."""
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


_function: Callable[..., Any]  # of this worker


def _begin_worker(function: Callable[..., Any], stopped: Connection, stop: Connection, fork: bool) -> None:
    global _function
    _function = function
    stop.close()
    if sys.platform == "linux":  # the thread below waits while an operation holds the interpreter's lock
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    for number in (signal.SIGINT, signal.SIGTERM):  # they go to the whole group: the parent decides
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, args=(stopped,), daemon=True).start()
    if fork:
        import torch

        torch.set_num_threads(1)


def _end_with_the_parent(stopped: Connection) -> None:
    """Wait until the parent has closed its end of the pipe, or has ended; then end this process at once."""
    stopped.poll(None)
    os._exit(1)


def _work(*job: object) -> bytes:
    """The function's result, pickled here: PyTorch changes multiprocessing's pickler to share tensors in files."""
    return pickle.dumps(_function(*job))
