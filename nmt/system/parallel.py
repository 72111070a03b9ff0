"""A function's work on many parts, by several processes at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import TypeVar

from nmt.system.errors import UserError

Result = TypeVar("Result")


def in_parallel(
    function: Callable[..., Result], jobs: Iterable[tuple[object, ...]], workers: int | None = None
) -> Iterator[Result]:
    """What a function of a module returns for each job's arguments, in their order.

    There are as many processes as cores, or as asked for, and twice as many jobs ahead of the result that is awaited.
    A single job is done in this process. Raises `UserError` if a process is killed.
    """
    ahead = iter(jobs)
    first = list(islice(ahead, 2))
    if len(first) < 2:
        yield from (function(*job) for job in first)
        return
    count = workers or os.cpu_count() or 1
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_leave_signals_to_the_parent)
    waiting: deque[Future[Result]] = deque()
    try:
        for job in chain(first, ahead):
            waiting.append(pool.submit(function, *job))
            if len(waiting) > 2 * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError("a process that worked on a part of the text was killed: is there enough memory?") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
