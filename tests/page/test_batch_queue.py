"""The queue: what arrives together is computed together, nothing waits without end, and nobody pays for another."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from nmt.page import batch_queue
from nmt.page.batch_queue import AT_ONCE, COST_AT_ONCE, PASSING, BatchQueue, FullQueue, Report


class Recorded:
    """Computes the answers to payloads, and notes those of each call."""

    def __init__(self, answer: Callable[[Any], Any] = lambda payload: payload) -> None:
        self.answer, self.calls = answer, list[list[Any]]()

    def __call__(self, payloads: Sequence[Any], report: Report) -> None:
        self.calls.append(list(payloads))
        for position, answer in enumerate([self.answer(payload) for payload in payloads]):
            report(position, answer)


def in_loop(program: Any) -> Any:
    async def run() -> Any:
        queue = BatchQueue(longest=100)
        running = asyncio.create_task(queue.run())
        try:
            return await asyncio.wait_for(program(queue), 20)
        finally:
            running.cancel()

    return asyncio.run(run())


def answers(*jobs: tuple[Any, ...]) -> Any:
    """The answers to jobs that arrive together, or what they raise."""
    return in_loop(lambda queue: asyncio.gather(*(queue.answer(*job) for job in jobs), return_exceptions=True))


def test_jobs_of_a_kind_share_calls_of_a_largest_size() -> None:
    double = Recorded(lambda number: 2 * number)
    assert answers(*((number % 2, double, number) for number in range(10))) == [2 * number for number in range(10)]
    assert double.calls == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    same = Recorded()
    assert answers(*(("", same, number) for number in range(90))) == list(range(90))
    assert [len(call) for call in same.calls] == [AT_ONCE, AT_ONCE, 90 - 2 * AT_ONCE]
    dear = Recorded()
    assert answers(*(("", dear, number, 0, COST_AT_ONCE / 2) for number in range(4)))[:2] == [0, 1]
    answers(*(("", dear, number, 0, COST_AT_ONCE + 1) for number in range(2)))
    assert dear.calls == [[0, 1], [2, 3], [0], [1]]


def test_the_first_comes_first_with_those_of_its_size() -> None:
    same = Recorded()
    answers(*(("", same, size, size) for size in (7, *range(100, 100 + AT_ONCE), *range(AT_ONCE - 1))))
    assert [sorted(sizes) for sizes in same.calls] == [sorted([7, *range(AT_ONCE - 1)]), [*range(100, 100 + AT_ONCE)]]


def test_a_job_that_fails_fails_alone_and_answered_ones_are_not_computed_again() -> None:
    seen: list[int] = []

    def inverse(numbers: Sequence[int], report: Report) -> None:
        for position, number in enumerate(numbers):
            seen.append(number)
            report(position, 1 / number)

    one, half, wrong, quarter = answers(*(("", inverse, number) for number in (1, 2, 0, 4)))
    assert (one, half, quarter) == (1, 0.5, 0.25)
    assert isinstance(wrong, ZeroDivisionError)
    assert seen == [1, 2, 0, 0, 4]
    assert isinstance(
        in_loop(lambda queue: asyncio.gather(queue.alone(int, "x"), return_exceptions=True))[0], ValueError
    )


def test_a_full_queue_refuses_at_once_and_then_goes_on() -> None:
    async def program(queue: BatchQueue) -> Any:
        # These are more than the queue holds before any is done.
        jobs = (queue.answer("", Recorded(), number) for number in range(130))
        return await asyncio.gather(*jobs, return_exceptions=True), await queue.alone(str, 7)

    results, again = in_loop(program)
    assert [isinstance(result, FullQueue) for result in results] == [False] * 100 + [True] * 30
    assert again == "7"


def test_cancelled_jobs_are_not_computed_and_do_not_fill_the_queue() -> None:
    free, same = threading.Event(), Recorded()

    async def program(queue: BatchQueue) -> Any:
        first = asyncio.create_task(queue.alone(free.wait, 10))
        await asyncio.sleep(2 * batch_queue.PATIENCE)  # it is computed now
        gone = [asyncio.create_task(queue.answer("", same, number)) for number in range(100)]
        await asyncio.sleep(0)
        for task in gone:
            task.cancel()
        await asyncio.wait(gone)
        here = asyncio.create_task(queue.answer("", same, "here"))
        await asyncio.sleep(0)
        free.set()
        return await asyncio.gather(first, here)

    assert in_loop(program) == [True, "here"]
    assert same.calls == [["here"]]


def test_what_costs_little_passes_what_costs_much_and_work_for_nobody_stops() -> None:
    begun, order, steps = threading.Event(), list[str](), list[int]()

    def explain(queue: BatchQueue) -> None:
        begun.set()
        for step in range(1000):
            steps.append(step)
            time.sleep(0.01)
            queue.go_on()

    async def program(queue: BatchQueue) -> None:
        gone = asyncio.create_task(queue.alone(explain, queue, cost=2500))
        await asyncio.to_thread(begun.wait)
        dear = [asyncio.create_task(queue.alone(order.append, f"dear {i}", cost=2500)) for i in range(3)]
        cheap = [asyncio.create_task(queue.alone(order.append, f"cheap {i}", cost=50)) for i in range(PASSING + 2)]
        await asyncio.sleep(0.1)
        gone.cancel()
        await asyncio.gather(*dear, *cheap)

    in_loop(program)
    cheap, dear = ([name for name in order if cost in name] for cost in ("cheap", "dear"))
    assert order == [*cheap[:PASSING], dear[0], *cheap[PASSING:], *dear[1:]]  # nobody waits without end
    assert len(steps) < 100


def test_an_early_answer_does_not_wait_for_the_others() -> None:
    asked_again = threading.Event()
    calls: list[list[str]] = []

    def slow(payloads: Sequence[str], report: Report) -> None:
        calls.append(list(payloads))
        report(0, payloads[0])
        if len(calls) == 1:
            assert asked_again.wait(10)  # there are no other answers before
        for position, payload in enumerate(payloads[1:], start=1):
            report(position, payload)

    async def program(queue: BatchQueue) -> Any:
        tasks = [asyncio.create_task(queue.answer("", slow, name)) for name in ("first", "second", "third")]
        assert await tasks[0] == "first"
        again = asyncio.create_task(queue.answer("", slow, "again"))
        await asyncio.sleep(0)
        asked_again.set()
        return await asyncio.gather(*tasks[1:], again)

    assert in_loop(program) == ["second", "third", "again"]
    assert calls == [["first", "second", "third"], ["again"]]
