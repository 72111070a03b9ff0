"""The cores that a process may use."""

import os
import subprocess
import sys

from nmt.system.cores import cores


def test_they_are_those_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    script = (
        f"import os; os.sched_setaffinity(0, {{{min(allowed)}}}); from nmt.system.cores import cores; print(cores())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"
