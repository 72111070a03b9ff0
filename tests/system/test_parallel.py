"""Work by several processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import end_this_process

import nmt
from nmt.system.errors import UserError
from nmt.system.parallel import in_parallel


def test_order_is_kept_by_as_many_processes_as_asked_for() -> None:
    jobs = [(n, 3) for n in range(20)]
    assert list(in_parallel(pow, iter(jobs), workers=3)) == [n**3 for n in range(20)]
    assert list(in_parallel(pow, [(2, 5)])) == [32]
    assert list(in_parallel(pow, [])) == []


def test_results_do_not_wait_for_jobs_that_take_a_while() -> None:
    returned: list[int] = []

    def jobs() -> Iterator[tuple[object, ...] | None]:
        yield (2, 1)
        while not returned:  # would never end if this result were kept until the next job
            yield None
        yield (2, 2)

    for result in in_parallel(pow, jobs(), workers=1):
        returned.append(result)
    assert returned == [2, 4]


def test_a_killed_process_is_named() -> None:
    with pytest.raises(UserError, match="was killed: is there enough memory"):
        list(in_parallel(end_this_process, [(1,), (2,)]))


PROGRAM = """
import os
from nmt.system.parallel import in_parallel

def work_on(_):
    os.write(1, f"{os.getpid()}\\n".encode())  # at once, or two workers' lines could mix
    while True:
        sum(range(10**6))

if __name__ == "__main__":
    list(in_parallel(work_on, [(n,) for n in range(8)], workers=2))
"""


ABANDONED = """
from nmt.system.parallel import in_parallel

def endless_but_for_the_first(n):
    while n:
        sum(range(10**6))

if __name__ == "__main__":
    next(in_parallel(endless_but_for_the_first, [(0,), (1,), (2,)], workers=2))
"""


def test_jobs_that_have_begun_are_not_waited_for(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ABANDONED, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path(nmt.__file__).parents[1])}
    done = subprocess.run([sys.executable, program], env=environment, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_within_a_second_of_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path(nmt.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert len({*workers, parent.pid}) == 3
        parent.send_signal(number)
        parent.wait()
        ended = time.monotonic()
        while any(map(is_alive, workers)):
            assert time.monotonic() - ended < 1, "a worker lives on"
            time.sleep(0.02)


def is_alive(process: int) -> bool:
    """Whether a process runs, which is not waiting to be forgotten either (a zombie)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_script_without_a_guard_does_not_wait_for_itself(tmp_path: Path) -> None:
    """Python starts processes that run the script again, up to the lock that their parent holds."""
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from nmt.system.files import locked\n"
        "from nmt.system.parallel import in_parallel\n"
        "with locked(Path('folder/lock'), None):\n"
        "    print(list(in_parallel(pow, [(2, 1), (2, 2)], workers=1)))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(nmt.__file__).parents[1])}
    command = [sys.executable, str(script)]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0
    assert 'put the code of the script under `if __name__ == "__main__":`' in run.stderr
    assert "Waiting for another process" not in run.stderr
