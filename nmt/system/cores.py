"""How many CPU cores this process may use."""

import os


def cores() -> int:
    """How many this process may use: fewer than the machine has under taskset, Slurm or in some containers."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
