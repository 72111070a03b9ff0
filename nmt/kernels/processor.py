"""Which products are the fastest on a processor: a rule from its features, so that one machine always does the same.

Measured on Intel's Xeons (Cascade Lake, Ice Lake, and with AMX) and on AMD's Zen 4 and Zen 5
(docs/explanation/performance.md).
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import torch

Precision: TypeAlias = Literal["float32", "bf16", "int8"]
Library: TypeAlias = Literal["onednn", "torch"]

_NAMES = {"vendor_id": "vendor", "flags": "features", "Features": "features"}  # the last one is ARM's


class Processor(NamedTuple):
    vendor: str
    features: frozenset[str]
    """As Linux names them; none where they are not known."""


def fastest_precision(processor: Processor, device: torch.device) -> tuple[Precision, str]:
    """What `training.precision: auto` is, and why.

    It is bfloat16 where the processor multiplies that (elsewhere it takes longer than float32), or else 8 bits with
    AVX512-VNNI, or else float32. AVX-VNNI alone was not measured in training. NVIDIA's GPUs multiply bfloat16 from
    Ampere (compute capability 8.0) on, which pays where updates are recorded; other makers' were not measured.
    """
    if device.type != "cpu":
        is_nvidia = device.type == "cuda" and torch.version.hip is None
        if is_nvidia and torch.cuda.get_device_capability(device) >= (8, 0):
            return "bf16", "this GPU multiplies it faster"
        return "float32", "bf16 is not known to be faster on this GPU"
    if "amx_bf16" in processor.features:
        return "bf16", "AMX multiplies it faster"
    if "avx512_bf16" in processor.features:
        return "bf16", "AVX512-BF16 multiplies it faster"
    if "avx512_vnni" in processor.features:
        return "int8", "VNNI multiplies 8-bit numbers faster"
    return "float32", "no AMX, AVX512-BF16 or AVX512-VNNI"


def fastest_search_precision(processor: Processor, device: torch.device) -> Precision:
    """What `search.precision: auto` is. What it costs in BLEU is told in docs/explanation/performance.md.

    With AMX products of bfloat16 numbers are faster than those of 8 bits, whose factors must be rounded at each step;
    with VNNI alone it is the other way round.
    """
    if device.type != "cpu":
        return "float32"
    if "amx_bf16" in processor.features:
        return "bf16"
    if processor.features & {"avx512_vnni", "avx_vnni"}:
        return "int8"
    return "bf16" if "avx512_bf16" in processor.features else "float32"


def fastest_library(processor: Processor) -> Library:
    """Whose float32 products: those of oneDNN, but on Intel's PyTorch's own, which are MKL's.

    MKL does not use AVX-512 on other processors, where oneDNN is up to twice as fast. On Intel's own it does, and its
    gradients of weights are a third faster.
    """
    return "torch" if processor.vendor == "GenuineIntel" else "onednn"


@cache
def this_processor() -> Processor:
    """The one that this runs on."""
    found = {"vendor": platform.processor(), "features": ""}
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in _NAMES:
            found[_NAMES[name.strip()]] = value.strip()
        elif not line.strip() and found["features"]:
            break  # the other cores are like the first
    return Processor(found["vendor"], frozenset(found["features"].split()))
