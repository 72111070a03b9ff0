"""Work by several processes: the same results in the same order, and nothing left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from support.processes import end_this_process, run_among_planted_modules
from support.tiny_models import SOURCES, WIRINGS, parametrised, tiny_model

import nmt
from nmt.config.search import SearchConfig
from nmt.decoding import batches as decoding
from nmt.decoding.beam_search import Hypothesis
from nmt.system import process_pool
from nmt.system.errors import UserError
from nmt.system.process_pool import map_in_processes

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(nmt.__file__).parents[1])}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Two threads, which are two again after whatever happens, and no process is left."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2
    assert not multiprocessing.active_children()
    torch.set_num_threads(before)


def forked(function: Callable[[int], object], count: int, workers: int = 2) -> list[object]:
    return list(map_in_processes(function, [(number,) for number in range(count)], workers, fork=True))


def test_order_is_kept_and_one_worker_is_this_process() -> None:
    assert list(map_in_processes(pow, ((n, 3) for n in range(20)), workers=3)) == [n**3 for n in range(20)]
    assert list(map_in_processes(pow, [])) == []
    processes = {*map_in_processes(os.getpid, [()]), *map_in_processes(os.getpid, [(), ()], workers=1)}
    assert processes == {os.getpid()}


def test_workers_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    script = """
from nmt.system.process_pool import map_in_processes
if __name__ == "__main__":
    assert list(map_in_processes(pow, [(2, 3), (2, 4)], 2)) == [8, 16]
"""
    run_among_planted_modules(script, tmp_path, PYTHONPATH=ENVIRONMENT["PYTHONPATH"])


def test_forked_workers_have_one_thread_each_and_change_nothing_here() -> None:
    weights = torch.zeros(3)

    def work(number: int) -> tuple[int, int, int, float]:
        time.sleep(0.02)
        weights.add_(1)
        return number, os.getpid(), torch.get_num_threads(), float(weights[0])

    numbers, processes, threads, counts = zip(*forked(work, 30, workers=3), strict=True)
    assert numbers == (*range(30),)
    assert len({*processes, os.getpid()}) == 4
    assert {*threads} == {1}
    assert max(counts) > 1
    assert not weights.any()


def test_an_error_is_raised_here_and_a_signal_is_left_to_this_process() -> None:
    def fail(number: int) -> None:
        raise UserError(f"no memory for {number}")

    def interrupt_itself(number: int) -> int:
        os.kill(os.getpid(), signal.SIGINT if number % 2 else signal.SIGTERM)
        return number

    with pytest.raises(UserError, match="no memory for 0"):
        forked(fail, 6)
    assert forked(interrupt_itself, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("fork", [False, True])
def test_a_killed_worker_is_named(fork: bool) -> None:
    with pytest.raises(UserError, match="was killed: is there enough memory"):
        list(map_in_processes(end_this_process, [(1,), (2,)], workers=2, fork=fork))


ENDLESS = """
import os, sys
from nmt.system.process_pool import map_in_processes

def work_on(_):
    os.write(1, f"{os.getpid()}\\n".encode())  # at once, or two workers' lines could mix
    3 ** 10**9  # one operation, which no other thread interrupts

if __name__ == "__main__":
    list(map_in_processes(work_on, [(n,) for n in range(8)], workers=2, fork="fork" in sys.argv))
"""
ABANDONED = """
from nmt.system.process_pool import map_in_processes

def endless_but_for_the_first(n):
    while n:
        sum(range(10**6))

if __name__ == "__main__":
    next(map_in_processes(endless_but_for_the_first, [(0,), (1,), (2,)], workers=2))
"""
WITHOUT_GUARD = """
from pathlib import Path
from nmt.system.files import locked
from nmt.system.process_pool import map_in_processes
with locked(Path('folder/lock'), None):
    print(list(map_in_processes(pow, [(2, 1), (2, 2)], workers=2)))
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], list[str]]:
    """The command that runs a program, which is written into a file."""

    def write(program: str) -> list[str]:
        (tmp_path / "program.py").write_text(program, encoding="utf-8")
        return [sys.executable, str(tmp_path / "program.py")]

    return write


def is_alive(process: int) -> bool:
    """Whether a process runs, which is not waiting to be forgotten either (a zombie)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("method", "number"), [("spawn", signal.SIGKILL), ("spawn", signal.SIGTERM), ("fork", signal.SIGKILL)]
)
def test_workers_end_within_a_second_of_their_parent(
    written: Callable[[str], list[str]], method: str, number: signal.Signals
) -> None:
    command = [*written(ENDLESS), method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert len({*workers, parent.pid}) == 3
        parent.send_signal(number)
        parent.wait()
        ended = time.monotonic()
        while any(map(is_alive, workers)):
            assert time.monotonic() - ended < 1, "a worker lives on"
            time.sleep(0.02)


def test_jobs_that_have_begun_are_not_waited_for_nor_a_script_without_a_guard_for_itself(
    written: Callable[[str], list[str]], tmp_path: Path
) -> None:
    more = {"cwd": tmp_path, "env": ENVIRONMENT, "timeout": 60, "text": True}
    done = subprocess.run(written(ABANDONED), stderr=subprocess.PIPE, **more)
    assert (done.returncode, done.stderr) == (0, "")
    # Python starts processes that run the script again, up to the lock that their parent holds.
    run = subprocess.run(written(WITHOUT_GUARD), capture_output=True, **more)
    assert run.returncode != 0
    assert 'put its code under `if __name__ == "__main__":`' in run.stderr
    assert "Waiting for another process" not in run.stderr


@pytest.mark.parametrize("options", [{}, {"sampling": {"temperature": 0.9, "seed": 3}}, {"precision": "int8"}])
@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_decoding_in_processes_gives_the_same_bits(variant, options, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(variant)
    sources = [*SOURCES, *SOURCES[::-1], []]
    search = SearchConfig.model_validate({"beam_size": 3, "max_length": 6, "batch_size": 2} | options)
    processes = []

    def decoded(sources: list[list[int]]) -> dict[int, list[Hypothesis]]:
        return dict(decoding.decode(model, sources, search, n_best=2, attention=model.has_attention))

    def noted(function, jobs, workers, *, fork):
        processes.append(workers)
        return map_in_processes(function, jobs, workers, fork=fork)

    monkeypatch.setattr(process_pool, "map_in_processes", noted)
    shared = decoded(sources)
    decoded(sources[:3])  # fewer batches than threads: no process
    torch.set_num_threads(1)
    alone = decoded(sources)
    torch.set_num_threads(2)
    assert processes == [2]
    assert shared.keys() == alone.keys()
    for number, hypotheses in alone.items():
        assert shared[number] == hypotheses
        for ours, theirs in zip((h.attention for h in shared[number]), (h.attention for h in hypotheses), strict=True):
            assert (ours is None and theirs is None) or torch.equal(ours, theirs)
