"""The machine that measured times belong to."""

import platform
import re
from pathlib import Path

import torch

from nmt.system.process_pool import cores


def describe_machine(device: torch.device) -> str:
    """The machine and the versions that a measured time belongs to, as text."""
    info = Path("/proc/cpuinfo")  # of Linux, whose `platform` does not know the name
    name = re.search(r"model name\s*: (.*)", info.read_text(encoding="utf-8")) if info.exists() else None
    machine = f"{cores()} cores of {name[1] if name else platform.processor() or platform.machine()}"
    if device.type == "cuda":
        machine += f", {torch.cuda.get_device_name(device)}"
    return f"{machine}; Python {platform.python_version()}, PyTorch {torch.__version__}"
