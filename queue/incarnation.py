"""Names one life of one process, so that a lease can be told dead before it runs out.

A process id alone comes back; boot, process-id namespace, process id and start time together do not.
What cannot be judged from here (another namespace) is never called dead: its lease has to run out.
"""

from __future__ import annotations

import os
from pathlib import Path


def this_process() -> str:
    """The name of this life of this process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    pid = os.getpid()
    return f"{boot}/{namespace}/{pid}/{_start_time(pid)}"


def is_dead(name: str, here: str) -> bool:
    """Whether the process called `name` is certainly gone, seen from the process called `here`."""
    parts, ours = name.split("/"), here.split("/")
    if len(parts) != 4 or not parts[2].isdecimal():
        return False
    if parts[0] != ours[0]:
        return True
    return parts[1] == ours[1] and str(_start_time(int(parts[2]))) != parts[3]


def _start_time(pid: int) -> int | None:
    """Clock ticks from boot to the start of a live process; None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name, in parentheses, may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
