"""A computation by copies of this process: the same results, whoever computes them, and nothing left behind."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from support.tiny_models import SOURCES, WIRINGS, parametrised, tiny_model

from nmt.config.search import SearchConfig
from nmt.decoding import batches as decoding
from nmt.model.laid_out import LaidOut
from nmt.system.errors import UserError
from nmt.system.forks import by_copies, copies


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Two threads, which are two again after whatever happens, and no process is left."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2
    assert not multiprocessing.active_children()
    torch.set_num_threads(before)


def test_every_part_is_computed_once_and_results_are_in_order() -> None:
    def part(number: int) -> tuple[int, int, int]:
        time.sleep(0.01)
        return number, os.getpid(), torch.get_num_threads()

    results = by_copies(part, 40, 3)
    assert [number for number, _, _ in results] == list(range(40))
    assert len({process for _, process, _ in results}) == 3
    assert {threads for _, _, threads in results} == {1}


def test_a_copy_sees_what_this_process_has_and_changes_nothing_of_it() -> None:
    weights = torch.zeros(3)

    def part(number: int) -> float:
        time.sleep(0.05)  # so that each process has one
        weights.add_(number + 1)
        return float(weights.sum())

    own, other = by_copies(part, 2, 2)
    assert {own, other} == {3.0, 6.0}
    assert float(weights.sum()) in {3.0, 6.0}


@pytest.mark.parametrize("at_fault", ["this process", "a copy"])
def test_an_error_is_raised_here(at_fault: str) -> None:
    this = os.getpid()

    def part(number: int) -> int:
        time.sleep(0.02)
        if (os.getpid() == this) == (at_fault == "this process"):
            raise UserError(f"no memory for part {number}")
        return number

    with pytest.raises(UserError, match="no memory for part"):
        by_copies(part, 6, 2)


def test_a_copy_that_is_killed_is_no_lost_part() -> None:
    this = os.getpid()

    def part(number: int) -> int:
        time.sleep(0.02)
        if os.getpid() != this:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(UserError, match="was killed: is there enough memory"):
        by_copies(part, 6, 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_a_copy_is_left_to_this_process(number: int) -> None:
    this, sent = os.getpid(), number

    def part(number: int) -> int:
        time.sleep(0.02)
        if os.getpid() != this:
            os.kill(os.getpid(), sent)
        return number

    assert by_copies(part, 4, 2) == [0, 1, 2, 3]


def test_copies_end_with_the_process_that_is_killed() -> None:
    here, there = multiprocessing.Pipe(duplex=False)

    def part(_: int) -> bytes:
        there.send_bytes(str(os.getpid()).encode())
        time.sleep(0.1)
        return bytes(2**17)  # more than a pipe holds

    process = multiprocessing.get_context("fork").Process(target=by_copies, args=(part, 1000, 2))
    process.start()
    seen: set[int] = set()
    while len(seen) < 2:
        seen.add(int(here.recv_bytes()))
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    [copy] = seen - {process.pid}
    for _ in range(100):
        stat = Path(f"/proc/{copy}/stat")
        if not stat.exists() or stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("the copy goes on")


def test_copies_are_as_many_as_threads_if_there_is_a_part_for_each() -> None:
    assert [copies(parts) for parts in (0, 1, 2, 100)] == [1, 1, 2, 2]
    torch.set_num_threads(1)
    assert copies(100) == 1
    torch.set_num_threads(2)


def test_a_daemon_which_may_have_no_processes_computes_alone() -> None:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=lambda: there.send_bytes(bytes([copies(100)])), daemon=True)
    process.start()
    assert here.recv_bytes() == b"\1"
    process.join()


@pytest.mark.parametrize("options", [{}, {"sampling": {"temperature": 0.9, "seed": 3}}, {"precision": "int8"}])
@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_decoding_by_copies_gives_the_same_bits(variant, options, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(variant)
    sources = [*SOURCES, *SOURCES[::-1], []]
    search = SearchConfig.model_validate({"beam_size": 3, "max_length": 6, "batch_size": 2} | options)
    processes = []

    def decoded() -> dict[int, list[decoding.Decoded]]:
        found = decoding.decode(LaidOut(model), sources, search, n_best=2, attention=model.has_attention)
        return dict(found)

    def counted(function, parts, count):
        processes.append(count)
        return by_copies(function, parts, count)

    monkeypatch.setattr(decoding, "by_copies", counted)
    shared = decoded()
    assert processes == [2]
    torch.set_num_threads(1)
    alone = decoded()
    torch.set_num_threads(2)
    assert processes == [2]
    assert shared.keys() == alone.keys()
    for number, hypotheses in alone.items():
        assert [h for h, _ in shared[number]] == [h for h, _ in hypotheses]
        for (_, ours), (_, theirs) in zip(shared[number], hypotheses, strict=True):
            assert (ours is None and theirs is None) or torch.equal(ours, theirs)
