"""Memory that the C library keeps."""

import os
import platform
import subprocess
import sys

import pytest

PAGES = """
import resource
import torch
from nmt.fast.processor import keep_freed_memory

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(2**22)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.set_num_threads(1)
before = pages()
keep_freed_memory()
pages()
print(before, min(pages() for _ in range(3)))  # something else may take pages once
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told so")
def test_freed_memory_is_kept() -> None:
    eager = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}  # to return memory at once
    command = [sys.executable, "-c", PAGES]
    done = subprocess.run(command, env=os.environ | eager, capture_output=True, text=True, check=True)
    before, kept = map(int, done.stdout.split())
    assert before > 9 * 2**12 > 9 * kept  # pages of 4 KiB, of ten tensors of 16 MiB
