"""The machine that measured times belong to."""

import platform

import torch

from nmt.system.device import cpuinfo
from nmt.system.process_pool import cores


def describe_machine(device: torch.device) -> str:
    """The machine and the versions that a measured time belongs to, as text."""
    machine = f"{cores()} cores of {cpuinfo().get('model name') or platform.processor() or platform.machine()}"
    if device.type == "cuda":
        machine += f", {torch.cuda.get_device_name(device)}"
    return f"{machine}; Python {platform.python_version()}, PyTorch {torch.__version__}"
