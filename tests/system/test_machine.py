"""What a process uses of the machine: its cores, devices, memory and threads."""

import os
import platform
import runpy
import subprocess
import sys

import pytest
import torch

import nmt
from nmt.system.device import choose_device
from nmt.system.errors import UserError
from nmt.system.process_pool import cores


def printed_by(program: str, **variables: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=True).stdout


def test_cores_are_those_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    program = "import os; from nmt.system.process_pool import cores; os.sched_setaffinity(0, {%d}); print(cores())"
    assert printed_by(program % min(allowed)) == "1\n"


def test_only_devices_that_exist_can_be_chosen() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    choices = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu (PyTorch finds no CUDA GPU)"
    for name in ("gpu", "cuda:99", "", "meta"):
        with pytest.raises(UserError) as refused:
            choose_device(name)
        assert str(refused.value) == f"device: '{name}' cannot be used here; choose {choices}"


CONFIGURED = """
import resource
import threading
import torch
from nmt.system.device import configure_process

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(2**22)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def print_whether_denormals_are_left():
    torch.set_num_threads(3)
    smallest = torch.ones(3 * 2**16, dtype=torch.int32).view(torch.float32)  # 1e-45; each thread gets 2**15 or more
    print(bool((smallest * 1).view(torch.int32).any()))

torch.set_num_threads(1)
before = pages()
configure_process()
pages()
print(before, min(pages() for _ in range(3)))  # something else may take pages once
print_whether_denormals_are_left()
thread = threading.Thread(target=print_whether_denormals_are_left)
thread.start()
thread.join()
torch.set_flush_denormal(False)
print_whether_denormals_are_left()
"""


def test_a_configured_process_keeps_freed_memory_and_flushes_denormals_in_every_thread() -> None:
    eager = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}  # to return memory at once
    before, kept, *denormals = printed_by(CONFIGURED, **eager).split()
    assert denormals == ["False", "False", "True"]
    if platform.libc_ver()[0] == "glibc":  # pages of 4 KiB, of ten tensors of 16 MiB
        assert int(before) > 9 * 2**12 > 9 * int(kept)


def test_threads_wait_briefly_unless_the_user_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for set_before, expected in (({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)):
        for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in set_before.items():
            monkeypatch.setenv(name, value)
        runpy.run_path(nmt.__file__)
        assert os.environ.get("GOMP_SPINCOUNT") == expected
