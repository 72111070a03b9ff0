"""The one thread that computes, and the queue before it: what arrives together is translated together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

PATIENCE = 0.005  # seconds that a job may wait for others to join it
LONGEST_QUEUE = 256  # jobs; more are refused
AT_ONCE = 32  # jobs of one batch: while it is computed, the next one arrives
COST_AT_ONCE = 5000  # of one batch, if it is more than one job: a second of computing, for which others have to wait
CHEAP = 500  # the cost of a job (tokens by the beam) up to which it passes those that cost more
PASSING = 8  # batches of cheap jobs that may do so before one of the others comes

Report = Callable[[int, Any], None]  # gets the position of a payload, and its answer as soon as it is there
GoOn = Callable[[Any], None]
Compute = Callable[[Sequence[Any], Report], None]


class FullQueue(Exception):
    """There is more to do than can be done soon."""


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, eq=False)
class _Job:
    kind: Hashable
    compute: Compute
    payload: Any
    size: int
    cost: float
    since: float
    answer: asyncio.Future[Any]


class BatchQueue:
    """Jobs of the same kind share a call of their function, which computes the answers of several payloads.

    It runs while `run` does. All computing happens in one other thread, so that the server can go on listening. A
    client whose answer is known early can ask again before the other answers are, and the next call chooses from more.
    """

    def __init__(self, longest: int = LONGEST_QUEUE) -> None:
        self._longest = longest
        self.waiting: list[_Job] = []
        self._computed: Sequence[_Job] = ()
        self._passed = 0
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nmt-work")

    async def answer(self, kind: Hashable, compute: Compute, payload: Any, size: int = 0, cost: float = 0) -> Any:
        """What `compute` makes of a payload, perhaps together with other payloads of this kind and of similar size.

        What costs more than `CHEAP` lets cheaper ones pass.
        Raises `FullQueue` at once if too much is waiting, and what `compute` raises for this payload alone.
        """
        if len(self.waiting) >= self._longest:  # whoever has gone does not wait
            self.waiting = [job for job in self.waiting if not job.answer.done()]
        if len(self.waiting) >= self._longest:
            raise FullQueue
        loop = asyncio.get_running_loop()
        job = _Job(kind, compute, payload, size, cost, loop.time(), loop.create_future())
        self.waiting.append(job)
        self._arrived.set()
        return await job.answer

    def go_on(self, _: Any = None) -> None:
        """For what computes, between its steps: raises `Abandoned` if all whom it computes for have gone."""
        if all(job.answer.cancelled() for job in self._computed):
            raise Abandoned

    async def alone(self, function: Callable[..., Any], *arguments: Any, cost: float = 0) -> Any:
        """What a function returns, computed by itself when its turn comes. Raises as `answer` does."""
        return await self.answer(object(), lambda _, report: report(0, function(*arguments)), None, 0, cost)

    async def run(self) -> None:
        """Compute until cancelled."""
        while True:
            await self._finish(await self._collect())

    async def _collect(self) -> list[_Job]:
        """The job whose turn it is, once others had `PATIENCE` to join it, and those of its kind closest in size."""
        while not self.waiting:
            self._arrived.clear()
            await self._arrived.wait()
        end = min(job.since for job in self.waiting) + PATIENCE
        while len(self.waiting) < AT_ONCE:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), end - asyncio.get_running_loop().time())
            except TimeoutError:
                break
        first = min(self.waiting, key=lambda job: (job.cost > CHEAP and self._passed < PASSING, job.since))
        self._passed = 0 if first.cost > CHEAP else self._passed + 1
        alike = [job for job in self.waiting if job.kind == first.kind and not job.answer.done()]
        nearest = sorted(alike, key=lambda job: (job is not first, abs(job.size - first.size)))[:AT_ONCE]
        costs = accumulate(job.cost for job in nearest)
        batch = [job for job, cost in zip(nearest, costs, strict=True) if cost <= COST_AT_ONCE or job is first]
        self.waiting = [job for job in self.waiting if job not in batch and not job.answer.done()]
        return batch

    async def _finish(self, jobs: Sequence[_Job]) -> None:
        jobs = [job for job in jobs if not job.answer.done()]  # whoever has gone needs no answer
        if not jobs:
            return
        self._computed = jobs
        loop = asyncio.get_running_loop()

        def report(position: int, answer: Any) -> None:
            loop.call_soon_threadsafe(_settle, jobs[position].answer, answer)

        try:
            await loop.run_in_executor(self._thread, jobs[0].compute, [job.payload for job in jobs], report)
        except Exception as error:
            if len(jobs) > 1:  # one of them is at fault, and the others are not to suffer
                for job in jobs:
                    await self._finish([job])
            elif not jobs[0].answer.done():
                jobs[0].answer.set_exception(error)


def _settle(waiting: asyncio.Future[Any], answer: Any) -> None:
    if not waiting.done():
        waiting.set_result(answer)
