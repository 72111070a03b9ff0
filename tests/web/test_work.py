"""The queue: what arrives together is computed together, nothing waits without end, and nobody pays for another."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from nmt.web import work as queue
from nmt.web.work import AT_ONCE, FullQueue, Work


def in_loop(program: Any) -> Any:
    async def run() -> Any:
        work = Work(longest=100)
        running = asyncio.create_task(work.run())
        try:
            return await asyncio.wait_for(program(work), 20)
        finally:
            running.cancel()

    return asyncio.run(run())


def test_jobs_of_a_kind_share_a_call() -> None:
    calls: list[list[int]] = []

    def double(numbers: Sequence[int]) -> list[int]:
        calls.append(list(numbers))
        return [2 * number for number in numbers]

    async def program(work: Work) -> Any:
        return await asyncio.gather(*(work.answer(number % 2, double, number) for number in range(10)))

    assert in_loop(program) == [2 * number for number in range(10)]
    assert calls == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_a_batch_has_a_largest_size() -> None:
    sizes: list[int] = []

    def count(numbers: Sequence[int]) -> list[int]:
        sizes.append(len(numbers))
        return list(numbers)

    async def program(work: Work) -> Any:
        return await asyncio.gather(*(work.answer("", count, number) for number in range(90)))

    assert in_loop(program) == list(range(90))
    assert sizes == [AT_ONCE, AT_ONCE, 90 - 2 * AT_ONCE]


def test_the_first_comes_first_with_those_of_its_size() -> None:
    calls: list[list[int]] = []

    def note(sizes: Sequence[int]) -> Sequence[int]:
        calls.append(list(sizes))
        return sizes

    async def program(work: Work) -> Any:
        sizes = [7, *range(100, 100 + AT_ONCE), *range(AT_ONCE - 1)]
        return await asyncio.gather(*(work.answer("", note, size, size) for size in sizes))

    in_loop(program)
    assert [sorted(sizes) for sizes in calls] == [sorted([7, *range(AT_ONCE - 1)]), [*range(100, 100 + AT_ONCE)]]


def test_a_job_that_fails_fails_alone() -> None:
    def inverse(numbers: Sequence[int]) -> list[float]:
        return [1 / number for number in numbers]

    async def program(work: Work) -> Any:
        jobs = (work.answer("", inverse, number) for number in (1, 0, 2))
        return await asyncio.gather(*jobs, return_exceptions=True)

    one, wrong, half = in_loop(program)
    assert (one, half) == (1, 0.5)
    assert isinstance(wrong, ZeroDivisionError)


def test_a_full_queue_refuses_at_once_and_then_goes_on() -> None:
    async def program(work: Work) -> Any:
        jobs = (work.answer("", list, number) for number in range(130))  # more than the queue holds before any is done
        found = await asyncio.gather(*jobs, return_exceptions=True)
        return found, await work.answer("", list, "again")

    found, again = in_loop(program)
    assert [isinstance(one, FullQueue) for one in found] == [False] * 100 + [True] * 30
    assert again == "again"


def test_nobody_computes_for_those_who_have_gone() -> None:
    seen: list[str] = []

    def note(payloads: Sequence[str]) -> Sequence[str]:
        seen.extend(payloads)
        return payloads

    async def program(work: Work) -> Any:
        gone = asyncio.create_task(work.answer("", note, "gone"))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await work.answer("", note, "here")

    assert in_loop(program) == "here"
    assert seen == ["here"]


def test_a_job_waits_a_moment_for_others_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert queue.PATIENCE <= 0.005
    monkeypatch.setattr(queue, "PATIENCE", 0.4)
    calls: list[list[str]] = []

    def note(payloads: Sequence[str]) -> Sequence[str]:
        calls.append(list(payloads))
        return payloads

    async def program(work: Work) -> Any:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        first = asyncio.create_task(work.answer("", note, "first"))
        await asyncio.sleep(0.2)
        await asyncio.gather(first, work.answer("", note, "in time"))
        waited = loop.time() - begun
        await work.answer("", note, "too late")
        return waited

    assert 0.4 <= in_loop(program) < 0.6  # from the arrival of the first, not of the last
    assert calls == [["first", "in time"], ["too late"]]
