"""The queue: what arrives together is computed together, nothing waits without end, and nobody pays for another."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nmt.page import batch_queue as queue
from nmt.page.batch_queue import AT_ONCE, BatchQueue, Compute, FullQueue, Report


def in_loop(program: Any) -> Any:
    async def run() -> Any:
        work = BatchQueue(longest=100)
        running = asyncio.create_task(work.run())
        try:
            return await asyncio.wait_for(program(work), 20)
        finally:
            running.cancel()

    return asyncio.run(run())


def at_once(compute: Callable[[Sequence[Any]], Sequence[Any]]) -> Compute:
    """What tells all answers together, at the end."""

    def told(payloads: Sequence[Any], tell: Report) -> None:
        for place, answer in enumerate(compute(payloads)):
            tell(place, answer)

    return told


def test_jobs_of_a_kind_share_a_call() -> None:
    calls: list[list[int]] = []

    def double(numbers: Sequence[int]) -> list[int]:
        calls.append(list(numbers))
        return [2 * number for number in numbers]

    async def program(work: BatchQueue) -> Any:
        return await asyncio.gather(*(work.answer(number % 2, at_once(double), number) for number in range(10)))

    assert in_loop(program) == [2 * number for number in range(10)]
    assert calls == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_a_batch_has_a_largest_size() -> None:
    sizes: list[int] = []

    def count(numbers: Sequence[int]) -> list[int]:
        sizes.append(len(numbers))
        return list(numbers)

    async def program(work: BatchQueue) -> Any:
        return await asyncio.gather(*(work.answer("", at_once(count), number) for number in range(90)))

    assert in_loop(program) == list(range(90))
    assert sizes == [AT_ONCE, AT_ONCE, 90 - 2 * AT_ONCE]


def test_the_first_comes_first_with_those_of_its_size() -> None:
    calls: list[list[int]] = []

    def note(sizes: Sequence[int]) -> Sequence[int]:
        calls.append(list(sizes))
        return sizes

    async def program(work: BatchQueue) -> Any:
        sizes = [7, *range(100, 100 + AT_ONCE), *range(AT_ONCE - 1)]
        return await asyncio.gather(*(work.answer("", at_once(note), size, size) for size in sizes))

    in_loop(program)
    assert [sorted(sizes) for sizes in calls] == [sorted([7, *range(AT_ONCE - 1)]), [*range(100, 100 + AT_ONCE)]]


def test_a_job_that_fails_fails_alone() -> None:
    def inverse(numbers: Sequence[int]) -> list[float]:
        return [1 / number for number in numbers]

    async def program(work: BatchQueue) -> Any:
        jobs = (work.answer("", at_once(inverse), number) for number in (1, 0, 2))
        return await asyncio.gather(*jobs, return_exceptions=True)

    one, wrong, half = in_loop(program)
    assert (one, half) == (1, 0.5)
    assert isinstance(wrong, ZeroDivisionError)


def test_a_full_queue_refuses_at_once_and_then_goes_on() -> None:
    async def program(work: BatchQueue) -> Any:
        # These are more than the queue holds before any is done.
        jobs = (work.answer("", at_once(list), number) for number in range(130))
        found = await asyncio.gather(*jobs, return_exceptions=True)
        return found, await work.answer("", at_once(list), "again")

    found, again = in_loop(program)
    assert [isinstance(one, FullQueue) for one in found] == [False] * 100 + [True] * 30
    assert again == "again"


def test_nobody_computes_for_those_who_have_gone() -> None:
    seen: list[str] = []

    def note(payloads: Sequence[str]) -> Sequence[str]:
        seen.extend(payloads)
        return payloads

    async def program(work: BatchQueue) -> Any:
        gone = asyncio.create_task(work.answer("", at_once(note), "gone"))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await work.answer("", at_once(note), "here")

    assert in_loop(program) == "here"
    assert seen == ["here"]


def test_those_who_have_gone_do_not_fill_the_queue() -> None:
    free = threading.Event()

    def wait(payloads: Sequence[str]) -> Sequence[str]:
        free.wait(10)
        return payloads

    async def program(work: BatchQueue) -> Any:
        first = asyncio.create_task(work.answer("", at_once(wait), "first"))
        await asyncio.sleep(2 * queue.PATIENCE)  # it is computed now
        gone = [asyncio.create_task(work.answer("", at_once(list), number)) for number in range(100)]
        await asyncio.sleep(0)
        for one in gone:
            one.cancel()
        await asyncio.wait(gone)
        here = asyncio.create_task(work.answer("", at_once(list), "here"))
        await asyncio.sleep(0)
        free.set()
        return await asyncio.gather(first, here)

    assert in_loop(program) == ["first", "here"]


def test_a_job_waits_a_moment_for_others_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert queue.PATIENCE <= 0.005
    monkeypatch.setattr(queue, "PATIENCE", 0.4)
    calls: list[list[str]] = []

    def note(payloads: Sequence[str]) -> Sequence[str]:
        calls.append(list(payloads))
        return payloads

    async def program(work: BatchQueue) -> Any:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        first = asyncio.create_task(work.answer("", at_once(note), "first"))
        await asyncio.sleep(0.2)
        await asyncio.gather(first, work.answer("", at_once(note), "in time"))
        waited = loop.time() - begun
        await work.answer("", at_once(note), "too late")
        return waited

    assert 0.4 <= in_loop(program) < 0.6  # from the arrival of the first, not of the last
    assert calls == [["first", "in time"], ["too late"]]


def test_an_answer_that_is_known_early_does_not_wait_for_the_others() -> None:
    asked_again = threading.Event()
    calls: list[list[str]] = []

    def slow(payloads: Sequence[str], tell: Report) -> None:
        calls.append(list(payloads))
        tell(0, payloads[0])
        if len(calls) == 1:
            assert asked_again.wait(10)  # the others' answers are not known before
        for place, payload in enumerate(payloads[1:], start=1):
            tell(place, payload)

    async def program(work: BatchQueue) -> Any:
        others = [asyncio.create_task(work.answer("", slow, name)) for name in ("first", "second", "third")]
        assert await others[0] == "first"
        again = asyncio.create_task(work.answer("", slow, "again"))
        await asyncio.sleep(0)
        asked_again.set()
        return await asyncio.gather(*others[1:], again)

    assert in_loop(program) == ["second", "third", "again"]
    assert calls == [["first", "second", "third"], ["again"]]


def test_what_was_answered_before_a_failure_is_not_computed_again() -> None:
    seen: list[int] = []

    def inverse(numbers: Sequence[int], tell: Report) -> None:
        for place, number in enumerate(numbers):
            seen.append(number)
            tell(place, 1 / number)

    async def program(work: BatchQueue) -> Any:
        return await asyncio.gather(*(work.answer("", inverse, n) for n in (1, 2, 0, 4)), return_exceptions=True)

    one, half, wrong, quarter = in_loop(program)
    assert (one, half, quarter) == (1, 0.5, 0.25)
    assert isinstance(wrong, ZeroDivisionError)
    assert seen == [1, 2, 0, 0, 4]
