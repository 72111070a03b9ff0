"""What is imported and loaded at the start is left out of garbage collection."""

import gc
import subprocess
import sys

import pytest

from nmt.system.startup import kept_for_good


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_meanwhile_and_never_sees_what_was_made(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    before = gc.get_freeze_count()
    try:
        with kept_for_good():
            assert not gc.isenabled()
            made = [[number] for number in range(1000)]
        assert gc.isenabled() == enabled
        assert gc.get_freeze_count() >= before + len(made)
    finally:
        gc.enable()
        gc.unfreeze()


def test_torch_without_meta_kernels_computes_the_same_and_can_have_them_later() -> None:
    script = """
import sys
from nmt.system.startup import without_meta_kernels
with without_meta_kernels():
    import torch
left_out = "torch._decomp.decompositions" not in sys.modules
numbers = torch.arange(6.0).reshape(2, 3)
print(left_out, (numbers @ numbers.T).tolist())
from torch._meta_registrations import meta_mm
empty = numbers.to("meta")
print(callable(meta_mm), tuple(torch.mm(empty, empty.T).shape))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True [[5.0, 14.0], [14.0, 50.0]]", "True (2, 2)"]
