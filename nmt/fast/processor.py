"""The CPU's features, and the precision of products that they make the fastest: a rule, so that one machine always
does the same. What was measured on which CPU is in docs/explanation/performance.md."""

import ctypes
import platform
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from nmt.acceleration import Precision


class Processor(NamedTuple):
    vendor: str
    features: frozenset[str]  # as Linux names them; none where they are unknown


def auto_precision(device: torch.device, purpose: str, processor: Processor | None = None) -> Precision:
    """What `auto` is for the purpose "training" or "search": bfloat16 where that is known to be faster.

    On CPUs that is with AMX or AVX512-BF16 (elsewhere bfloat16 takes longer than float32), on NVIDIA's GPUs from Ampere
    (compute capability 8.0) on, in training. Search takes 8 bits with VNNI where there is no AMX.
    """
    if device.type != "cpu":
        is_nvidia = device.type == "cuda" and torch.version.hip is None
        if purpose == "training" and is_nvidia and torch.cuda.get_device_capability(device) >= (8, 0):
            return "bf16"
        return "float32"
    features = (processor or this_processor()).features
    if purpose == "search" and "amx_bf16" not in features and features & {"avx512_vnni", "avx_vnni"}:
        return "int8"
    return "bf16" if features & {"amx_bf16", "avx512_bf16"} else "float32"


@cache
def this_processor() -> Processor:
    """The CPU that this runs on."""
    features = cpuinfo().get("flags") or cpuinfo().get("Features", "")  # the latter is ARM's
    return Processor(cpuinfo().get("vendor_id", platform.processor()), frozenset(features.split()))


@cache
def cpuinfo() -> dict[str, str]:
    """What Linux says about the cores of this CPU, which are alike; nothing on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def keep_freed_memory() -> None:
    """Let the C library (glibc) keep freed memory for later tensors.

    Returning it to the system and getting it back, page by page, took a tenth of the time of an update in bfloat16. The
    price: the process never shrinks below its peak.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
        mallopt(-3, 2**25)  # M_MMAP_THRESHOLD
