"""How many physical cores this process may use: llama.cpp gains nothing from their hyper-threads."""

from __future__ import annotations

import os
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def physical_cores() -> int:
    """Distinct cores among the processors of our affinity mask; the mask's size where the kernel tells nothing."""
    allowed = os.sched_getaffinity(0)
    siblings = set()
    for cpu in allowed:
        try:
            siblings.add((_CPUS / f"cpu{cpu}/topology/thread_siblings_list").read_text())
        except OSError:
            return len(allowed)
    return max(1, len(siblings))
