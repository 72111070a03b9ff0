"""The one thread that computes, and the queue before it: what arrives together is translated together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

PATIENCE = 0.005  # seconds that a job may wait for others to join it
LONGEST_QUEUE = 256  # jobs; more are refused
AT_ONCE = 64  # jobs of one batch

Compute = Callable[[Sequence[Any]], Sequence[Any]]


class FullQueue(Exception):
    """There is more to do than can be done soon."""


@dataclass(frozen=True, eq=False)
class _Job:
    kind: Hashable
    compute: Compute
    payload: Any
    answer: asyncio.Future[Any]


class Work:
    """Jobs of the same kind share a call of their function, which computes the answers of several payloads.

    It runs while `run` does. All computing happens in one other thread, so that the server can go on listening.
    """

    def __init__(self, longest: int = LONGEST_QUEUE) -> None:
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue(longest)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nmt-work")

    async def answer(self, kind: Hashable, compute: Compute, payload: Any) -> Any:
        """What `compute` makes of a payload, perhaps together with other payloads of this kind.

        Raises `FullQueue` at once if too much is waiting, and what `compute` raises for this payload alone.
        """
        job = _Job(kind, compute, payload, asyncio.get_running_loop().create_future())
        try:
            self._jobs.put_nowait(job)
        except asyncio.QueueFull:
            raise FullQueue from None
        return await job.answer

    async def run(self) -> None:
        """Compute until cancelled."""
        while True:
            jobs = await self._collect()
            kinds = dict.fromkeys(job.kind for job in jobs)
            for kind in kinds:
                await self._finish([job for job in jobs if job.kind == kind])

    async def _collect(self) -> list[_Job]:
        """The next job, and those that arrive within `PATIENCE` of it."""
        jobs = [await self._jobs.get()]
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while len(jobs) < AT_ONCE:
            if not self._jobs.empty():
                jobs.append(self._jobs.get_nowait())
                continue
            try:
                jobs.append(await asyncio.wait_for(self._jobs.get(), end - loop.time()))
            except TimeoutError:
                break
        return jobs

    async def _finish(self, jobs: Sequence[_Job]) -> None:
        jobs = [job for job in jobs if not job.answer.done()]  # whoever has gone needs no answer
        if not jobs:
            return
        call = asyncio.get_running_loop().run_in_executor
        try:
            answers = await call(self._thread, jobs[0].compute, [job.payload for job in jobs])
        except Exception as error:
            if len(jobs) > 1:  # one of them is at fault, and the others are not to suffer
                for job in jobs:
                    await self._finish([job])
            elif not jobs[0].answer.done():
                jobs[0].answer.set_exception(error)
            return
        for job, answer in zip(jobs, answers, strict=True):
            if not job.answer.done():
                job.answer.set_result(answer)
