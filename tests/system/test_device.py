"""Which devices can be chosen, and what a process keeps of the memory that it has had."""

import os
import platform
import subprocess
import sys

import pytest
import torch

from nmt.system.device import choose_device
from nmt.system.errors import UserError

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


def test_only_devices_that_are_here_can_be_chosen() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    others = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu (PyTorch finds no CUDA GPU)"
    for name in ("gpu", "cuda:99", "", "meta"):
        with pytest.raises(UserError) as refused:
            choose_device(name)
        assert str(refused.value) == f"device: '{name}' cannot be used here; choose {others}"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the switch")
def test_freed_memory_is_kept() -> None:
    eager = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}  # to give it back at once
    done = subprocess.run([sys.executable, "-c", PAGES_TAKEN], env=eager, capture_output=True, text=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert given_back > 9 * 2**12
    assert kept < 2**12
