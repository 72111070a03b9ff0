"""Memory that the C library keeps."""

import os
import subprocess
import sys

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


def test_freed_memory_is_kept() -> None:
    eager = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}  # to return memory at once
    output = subprocess.check_output([sys.executable, "-c", PAGES], env=os.environ | eager, text=True)
    before, kept = map(int, output.split())
    assert before > 9 * 2**12 > 9 * kept  # pages of 4 KiB, of ten tensors of 16 MiB
