"""What a jail may use, and what its command finds in its environment.

Checked on construction: a policy that exists can be enforced. It refuses values that would switch a limit off;
there is no way to ask for an unlimited jail.
"""

from __future__ import annotations

import os
import re
import resource
from dataclasses import dataclass, field, fields
from pathlib import Path

from appliance.errors import UsageError

CHANNEL_VARIABLE = "APPLIANCE_CHANNEL"
"""Names the two descriptors of a conversation; set by us alone."""

_BOUNDS: dict[str, tuple[float, float]] = {
    "memory_mb": (8, 1 << 20),
    "pids": (1, 30_000),
    "cpu_s": (0.01, 86_400),
    "wall_s": (0.01, 86_400),
    "disk_mb": (1, 1 << 16),
    "inodes": (16, 1 << 24),
    "output_kb": (1, 1 << 20),
    "cpus": (0, 4096),
}
SMALLEST_CPUS = 0.01
MAX_OPEN_FILES = 1024
"""Of one process."""
REDUCED_MEMORY_MB = 32
"""The least where memory is limited by address space, which holds the interpreter of the jail's init too."""
_CPUSET = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*")
_NAMED = "name it with letters, digits and underscores, a letter first"
_ONLINE = "/sys/devices/system/cpu/online"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Limits:
    """One jail's limits, each on everything its command starts, together."""

    memory_mb: int = 256
    """Memory with page cache and files in the private file systems; swap is off."""
    pids: int = 32
    """Processes and threads at any one time."""
    cpu_s: float = 10.0
    wall_s: float = 10.0
    """From the start of the command, not of the jail."""
    disk_mb: int = 16
    """Size of each of /work, /tmp and /dev/shm, and of any single file."""
    inodes: int = 1024
    """Files and folders in each of the three."""
    output_kb: int = 256
    """Bytes on each of stdout and stderr."""
    cpus: float = 0.0
    """Processors' worth of CPU time per second; 0 is no quota."""
    cpuset: str = ""
    """Processors the tree may run on, such as `0-1,3`; empty is all of them."""

    def __post_init__(self) -> None:
        for known in fields(self):
            if known.name != "cpuset":
                _check_bound(known.name, getattr(self, known.name), known.default)
        if 0 < self.cpus < SMALLEST_CPUS:
            raise UsageError(
                f"limit cpus = {self.cpus!r} is below {SMALLEST_CPUS:g}, the least the kernel takes",
                remedy="give more, or 0 for no quota",
            )
        # Anything but text would be no list either.
        processors(self.cpuset or "", "limit cpuset")


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits, and variables added to the command's environment."""

    limits: Limits = field(default_factory=Limits)
    env: tuple[tuple[str, str], ...] = ()
    strict: bool = False
    """Refuse to start where limits would be reduced, instead of saying so in the result."""

    def __post_init__(self) -> None:
        for name, value in self.env:
            _check_variable(name, value)
        if len({name for name, _ in self.env}) < len(self.env):
            raise UsageError("an environment variable is given twice", remedy="give each once")


def processors(cpuset: str, what: str) -> set[int]:
    """The members of a list such as `0-1,3`; UsageError, which calls it `what`, when it is none."""
    remedy = f"give a list such as 0-1,3; this machine has {online()}"
    if not isinstance(cpuset, str) or (cpuset and not _CPUSET.fullmatch(cpuset)):
        raise UsageError(f"{what} = {cpuset!r} is not a list of processors", remedy=remedy)
    found: set[int] = set()
    for low, dash, high in (part.partition("-") for part in cpuset.split(",") if part):
        if dash and int(high) < int(low):
            raise UsageError(f"{what} = {cpuset!r} has a range that runs backwards", remedy=remedy)
        found |= set(range(int(low), int(high if dash else low) + 1))
    return found


def check_processors(cpuset: str, what: str) -> None:
    """UsageError unless this machine has every processor of a list."""
    lacking = processors(cpuset, what) - processors(online(), what)
    if lacking:
        raise UsageError(
            f"{what} = {cpuset!r} names processor {min(lacking)}, which this machine does not have",
            remedy=f"choose from {online()}",
        )


def online() -> str:
    """The processors of this machine, as the kernel lists them."""
    try:
        return Path(_ONLINE).read_text().strip()
    except OSError:
        return f"0-{(os.cpu_count() or 1) - 1}"


def open_files(most: int) -> int:
    """How many files a process of a jail may have open: no more than this process could allow itself."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def bounds(name: str) -> tuple[float, float]:
    """The smallest and the largest allowed value of a limit."""
    return _BOUNDS[name]


def _check_bound(name: str, value: object, default: object) -> None:
    low, high = _BOUNDS[name]
    whole = type(default) is int
    if type(value) is not int and (whole or not isinstance(value, float)):
        raise UsageError(
            f"limit {name} = {value!r} is not a {'whole number' if whole else 'number'}",
            remedy=f"give one between {low:g} and {high:g}",
        )
    # A NaN fails both comparisons.
    if not low <= value <= high:
        raise UsageError(
            f"limit {name} = {value!r} is not between {low:g} and {high:g}", remedy="give one that is"
        )


def _check_variable(name: str, value: str) -> None:
    if not isinstance(name, str) or not isinstance(value, str):
        raise UsageError(f"environment variable {name!r} = {value!r} is no text", remedy=_NAMED)
    if not _VARIABLE.fullmatch(name):
        raise UsageError(f"environment variable {name!r} has no usable name", remedy=_NAMED)
    if name == CHANNEL_VARIABLE:
        raise UsageError(f"environment variable {name} is set by the sandbox", remedy="leave it out")
    if "\0" in value:
        raise UsageError(f"environment variable {name} holds a NUL character", remedy="leave it out")
