"""What a process uses of the machine: its cores, devices, memory and threads."""

import os
import platform
import runpy
import subprocess
import sys
import threading

import pytest
import torch

import nmt
from nmt.system.cores import cores
from nmt.system.denormals import flush_denormals, flushed_everywhere
from nmt.system.device import choose_device
from nmt.system.errors import UserError


def test_cores_are_those_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    script = (
        f"import os; os.sched_setaffinity(0, {{{min(allowed)}}}); from nmt.system.cores import cores; print(cores())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"


def test_only_devices_that_are_here_can_be_chosen() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    choices = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu (PyTorch finds no CUDA GPU)"
    for name in ("gpu", "cuda:99", "", "meta"):
        with pytest.raises(UserError) as refused:
            choose_device(name)
        assert str(refused.value) == f"device: '{name}' cannot be used here; choose {choices}"


# How many pages the system is asked for by tensors of 16 MiB, of 4096 pages each, before and after.
PAGES_TAKEN = """
import resource
import torch
from nmt.system.device import keep_freed_memory

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(2**22)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

given_back = pages()
keep_freed_memory()
pages()
print(given_back, min(pages() for _ in range(3)))  # something else may take pages once
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the switch")
def test_freed_memory_is_kept() -> None:
    eager = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}  # to give it back at once
    done = subprocess.run([sys.executable, "-c", PAGES_TAKEN], env=eager, capture_output=True, text=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert given_back > 9 * 2**12
    assert kept < 2**12


def test_every_thread_flushes_denormals() -> None:
    flush_denormals()
    flushed = [flushed_everywhere()]

    def in_a_thread_with_helpers() -> None:
        torch.set_num_threads(3)
        torch.set_flush_denormal(False)
        flushed.append(flushed_everywhere())  # helpers begin to work here
        torch.set_flush_denormal(True)
        flushed.append(flushed_everywhere())  # PyTorch's own function does not reach them
        flush_denormals()
        flushed.append(flushed_everywhere())

    thread = threading.Thread(target=in_a_thread_with_helpers)
    thread.start()
    thread.join()
    assert flushed == [True, False, False, True]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_wait_briefly_unless_the_user_has_chosen(
    chosen: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
        if name in chosen:
            monkeypatch.setenv(name, chosen[name])
    runpy.run_path(nmt.__file__)
    assert os.environ.get("GOMP_SPINCOUNT") == expected
