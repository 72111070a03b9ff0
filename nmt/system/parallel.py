"""A function's work on many parts, by several processes at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.connection import Connection
from typing import TypeVar

from nmt.system.cores import cores
from nmt.system.errors import UserError

Result = TypeVar("Result")


def in_parallel(
    function: Callable[..., Result], jobs: Iterable[tuple[object, ...] | None], workers: int | None = None
) -> Iterator[Result]:
    """What a function of a module returns for each job's arguments, in their order.

    There are as many processes as cores, or as asked for, and at most twice as many jobs wait for a process. None among
    the jobs says that the next one will take a while: what is finished is returned before it is waited for. A single
    job is done in this process. The processes end with this one, even if it is killed. Raises `UserError` if one of
    them is killed.
    """
    ahead = iter(jobs)
    first = list(islice(ahead, 2))
    if len(first) < 2:
        yield from (function(*job) for job in first if job is not None)
        return
    count = workers or cores()
    context = multiprocessing.get_context("spawn")
    over, going_on = context.Pipe(duplex=False)  # `over` can be read from once the other end is closed
    pool = ProcessPoolExecutor(count, context, initializer=_begin_worker, initargs=(over,))
    waiting: deque[Future[Result]] = deque()
    try:
        for job in chain(first, ahead):
            if job is not None:
                waiting.append(pool.submit(function, *job))
            while waiting and (len(waiting) > 2 * count or (job is None and waiting[0].done())):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError(
            "a process that worked on a part of the text was killed: is there enough memory? If it printed an error "
            "above, that is why it ended"
        ) from None
    finally:
        going_on.close()  # a job that has begun is not waited for
        pool.shutdown(wait=False, cancel_futures=True)


def runs_script_again() -> bool:
    """Whether this process is about to become a worker: it runs its parent's script first, to know its functions."""
    return getattr(multiprocessing.current_process(), "_inheriting", False)  # as multiprocessing asks itself


def _begin_worker(over: Connection) -> None:
    """Leave Ctrl-C to the parent process, and end when it wants no more results, or has ended in any way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, args=(over,), daemon=True).start()


def _end_with_the_parent(over: Connection) -> None:
    """Wait until the parent process has closed its end of the pipe; then end this one, whatever it is doing."""
    over.poll(None)  # the system closes it with the process that holds it
    os._exit(1)
