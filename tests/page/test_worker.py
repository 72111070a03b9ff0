"""Computing in a copy of the process: the same answers, and whatever happens to the copy, the server goes on."""

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from support.tiny_models import TEXTS, WIRINGS, tiny_codecs, tiny_model

from nmt.config.search import SearchConfig
from nmt.page import api
from nmt.page.batch_queue import Tell
from nmt.page.requests import TranslateRequest
from nmt.page.worker import SearchWorker
from nmt.system.errors import UserError
from nmt.translator import Translator


@pytest.fixture
def apart() -> Iterator[Callable[[Any], SearchWorker]]:
    """Makes what computes apart; at the end no process is left."""
    made: list[SearchWorker] = []

    def make(function: Any) -> SearchWorker:
        made.append(SearchWorker(function))
        return made[-1]

    yield make
    for one in made:
        one.end()
    assert not multiprocessing.active_children()


def answers(compute: Callable[[Any, Tell], None], payloads: Any) -> dict[int, Any]:
    told: dict[int, Any] = {}
    compute(payloads, told.setdefault)
    return told


def square(numbers: Sequence[int], tell: Tell) -> None:
    for place, number in enumerate(numbers):
        tell(place, (number * number, os.getpid(), torch.get_num_threads()))


def test_a_copy_on_one_thread_answers_call_after_call(apart: Callable[[Any], SearchWorker]) -> None:
    compute = apart(square)
    found = [answers(compute, range(begin, begin + 3)) for begin in (0, 3)]
    assert [[one[0] for one in told.values()] for told in found] == [[0, 1, 4], [9, 16, 25]]
    processes = {one[1] for told in found for one in told.values()}
    assert len(processes) == 1
    assert os.getpid() not in processes
    assert {one[2] for told in found for one in told.values()} == {1}


@pytest.mark.parametrize("variant", [WIRINGS[0], WIRINGS[-1]], ids=str)
def test_it_translates_as_this_process_does(apart: Callable[[Any], SearchWorker], variant: Any) -> None:
    served = api.Served.of(Translator(tiny_model(variant), *tiny_codecs(), SearchConfig(beam_size=3)))
    requests = [TranslateRequest(text=text, attention=True) for text in TEXTS]
    assert answers(apart(served.search), requests) == answers(served.search, requests)


def test_an_answer_is_told_before_the_others_are_known(apart: Callable[[Any], SearchWorker], tmp_path: Path) -> None:
    file = tmp_path / "told"

    def wait(_: Any, tell: Tell) -> None:
        tell(0, "early")
        while not file.exists():
            time.sleep(0.01)
        tell(1, "late")

    told: list[tuple[int, str]] = []

    def note(place: int, answer: str) -> None:
        told.append((place, answer))
        file.touch()

    apart(wait)([], note)
    assert told == [(0, "early"), (1, "late")]


@pytest.mark.parametrize("error", [UserError("too long"), OSError("no such thing"), EOFError()], ids=repr)
def test_what_is_raised_there_is_raised_here(apart: Callable[[Any], SearchWorker], error: Exception) -> None:
    def fail(fails: bool, tell: Tell) -> None:
        tell(0, "begun")
        if fails:
            raise error

    compute, told = apart(fail), dict[int, Any]()
    with pytest.raises(type(error)) as raised:
        compute(True, told.setdefault)
    assert raised.value.args == error.args
    assert told == answers(compute, False) == {0: "begun"}  # and the copy goes on


def test_a_copy_that_is_killed_is_replaced(apart: Callable[[Any], SearchWorker], tmp_path: Path) -> None:
    def die(file: Path, tell: Tell) -> None:
        tell(0, os.getpid())
        if not file.exists():
            file.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        tell(1, os.getpid())

    compute = apart(die)
    told: list[tuple[int, int]] = []
    compute(tmp_path / "died", lambda place, process: told.append((place, process)))
    assert [place for place, _ in told] == [0, 0, 1]
    [(_, first), (_, second), _] = told
    assert first != second
    assert answers(compute, tmp_path / "died")[1] == second


def test_a_call_that_kills_each_copy_is_given_up(apart: Callable[[Any], SearchWorker]) -> None:
    def die(dies: bool, _: Tell) -> None:
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)

    compute = apart(die)
    with pytest.raises(UserError, match="killed: is there enough memory"):
        compute(True, print)
    assert answers(compute, False) == {}


def test_a_copy_keeps_no_connection_open(apart: Callable[[Any], SearchWorker]) -> None:
    """A client sees the end of its connection when the server closes it."""
    client, server = socket.socketpair()

    def opened(_: Any, tell: Tell) -> None:
        tell(0, sorted(int(fd.name) for fd in Path("/proc/self/fd").iterdir() if fd.exists()))

    compute = apart(opened)
    [there] = answers(compute, None).values()
    assert server.fileno() not in there
    assert len(there) <= 4  # standard input, output and error, and the way to its server
    server.close()
    client.settimeout(5)
    assert client.recv(1) == b""
    client.close()


def test_a_copy_ends_with_its_process() -> None:
    """Also if that is killed."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def live() -> None:
        compute = SearchWorker(square)
        here.send(answers(compute, [1])[0][1])
        time.sleep(60)

    process = context.Process(target=live)
    process.start()
    copy = there.recv()
    process.kill()
    process.join()
    for _ in range(100):
        try:
            os.kill(copy, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{copy}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return  # it has ended, and waits to be seen by who inherited it
        time.sleep(0.1)
    pytest.fail("the copy lives on")
