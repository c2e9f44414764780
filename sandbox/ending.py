"""How a jail ended: from measured facts to one status word.

Rows are tried from the top; the first that fits decides. "Failed" is any ending but exit code 0.

| status       | when                                                                                     |
|--------------|------------------------------------------------------------------------------------------|
| infra        | the command was never started, the launcher was lost, processes outlived their kill, or  |
|              | the host (not the jail's own limit) ran out of memory: never the candidate's doing       |
| memory       | failed, a process was killed for memory, and the jail had reached its own limit          |
| output       | stdout or stderr went over `output_kb`; the jail is killed at once                       |
| processes    | failed or over time, and a fork or thread was refused at `pids`                          |
| timeout_cpu  | the tree used `cpu_s`; or died of SIGXCPU; or was stopped at `wall_s`, or died of        |
|              | SIGKILL, with 90 % of `cpu_s` used                                                       |
| timeout_wall | `wall_s` since the start of the command                                                  |
| denied       | the command does not exist or cannot be executed, or it died of SIGSYS                   |
| disk         | failed, and at the end /work, /tmp or /dev/shm had no free page or no free inode, or the |
|              | command died of SIGXFSZ                                                                  |
| signal       | died of another signal; or took the jail's init with it; or was stopped by its caller    |
| exit         | an exit code other than 0                                                                |
| ok           | exit code 0, whatever was refused or killed on the way                                   |

`exit_code` or `signal` is what the command itself ended with, when it got that far; a jail stopped at a limit
has neither. A shell's 126 to 255 are exit codes like any other.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Literal

from appliance.sandbox.policy import Limits

NEARLY = 0.9
"""Share of the CPU limit from which the end of wall time counts as the end of CPU time."""


STOPPED = "stopped by its caller"
CLOSED = "ended because its client was closed"
"""Of what ran when `Jails.close` was called: infra, for it may have had nothing to do with the command."""


class JailStatus(StrEnum):
    """The one word for how a jail ended; the table above says when."""

    ok = "ok"
    exit = "exit"
    signal = "signal"
    timeout_cpu = "timeout_cpu"
    timeout_wall = "timeout_wall"
    memory = "memory"
    output = "output"
    processes = "processes"
    disk = "disk"
    denied = "denied"
    infra = "infra"


@dataclass(frozen=True, slots=True)
class JailResult:
    """What one jail did and used."""

    status: JailStatus
    exit_code: int | None
    signal: int | None
    cpu_s: float
    """User and system time of everything the command started."""
    wall_s: float
    """From the start of the command to its end."""
    peak_mib: float | None
    """Highest memory of the whole jail, its own few MiB included; None when it could not be measured."""
    stdout: bytes
    stderr: bytes
    limits: Literal["full", "reduced"]
    """`reduced`: without a cgroup memory and CPU time are limited per process only; or swap is not limited."""
    detail: str = ""


class Stop(Enum):
    """Why the supervisor stopped watching."""

    ended = auto()
    """The init reported the command's own ending."""
    lost = auto()
    """The jail was gone without a report."""
    cpu = auto()
    wall = auto()
    output = auto()
    caller = auto()
    broken = auto()
    """Ours: not started, or not accounted for."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the status is decided from."""

    stop: Stop
    wait_status: int | None = None
    """Of the command, as wait(2) gives it."""
    exec_errno: int | None = None
    cpu_s: float = 0.0
    oom_kills: int = 0
    met_limit: bool = False
    """Memory came to the jail's own limit."""
    pids_hits: int = 0
    over: bool = False
    """More output than is kept."""
    full: bool = False
    """A private file system had no room at the end."""
    trouble: str = ""
    """What the launcher or the log said."""

    @property
    def died_of(self) -> int | None:
        status = self.wait_status
        return os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None

    @property
    def code(self) -> int | None:
        status = self.wait_status
        return os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None


@dataclass(frozen=True, slots=True)
class Ending:
    """The decision: a status and one line for a person."""

    status: JailStatus
    detail: str = ""


Rule = Callable[[Facts, Limits], Ending | None]


def decide(facts: Facts, limits: Limits) -> Ending:
    """Apply the table."""
    for rule in _RULES:
        if ending := rule(facts, limits):
            return ending
    raise AssertionError(facts)


def _infra(facts: Facts, limits: Limits) -> Ending | None:
    if facts.stop is Stop.broken:
        return Ending(JailStatus.infra, facts.trouble)
    if facts.oom_kills and not facts.met_limit and facts.code != 0:
        return Ending(JailStatus.infra, "killed because the host was out of memory")
    return None


def _memory(facts: Facts, limits: Limits) -> Ending | None:
    if facts.code == 0 or not facts.oom_kills:
        return None
    return Ending(JailStatus.memory, f"{facts.oom_kills} killed at the limit of {limits.memory_mb} MiB")


def _output(facts: Facts, limits: Limits) -> Ending | None:
    if not facts.over:
        return None
    return Ending(JailStatus.output, f"more than {limits.output_kb} KiB on one stream")


def _processes(facts: Facts, limits: Limits) -> Ending | None:
    if facts.code == 0 or not facts.pids_hits or facts.stop is Stop.caller:
        return None
    return Ending(JailStatus.processes, f"refused a process or thread at the limit of {limits.pids}")


def _time(facts: Facts, limits: Limits) -> Ending | None:
    cut_off = facts.stop is Stop.wall or facts.died_of == signal.SIGKILL
    used_up = cut_off and facts.cpu_s >= NEARLY * limits.cpu_s
    if facts.stop is Stop.cpu or facts.died_of == signal.SIGXCPU or used_up:
        return Ending(JailStatus.timeout_cpu, f"used the limit of {limits.cpu_s:g} s of CPU time")
    if facts.stop is Stop.wall:
        return Ending(JailStatus.timeout_wall, f"ran for the limit of {limits.wall_s:g} s")
    return None


def _denied(facts: Facts, limits: Limits) -> Ending | None:
    if facts.exec_errno is not None:
        return Ending(JailStatus.denied, f"cannot execute the command: {os.strerror(facts.exec_errno)}")
    if facts.died_of == signal.SIGSYS:
        return Ending(JailStatus.denied, "made a system call of a foreign architecture")
    return None


def _disk(facts: Facts, limits: Limits) -> Ending | None:
    if facts.died_of == signal.SIGXFSZ:
        return Ending(JailStatus.disk, f"a file over the limit of {limits.disk_mb} MiB")
    if facts.full and facts.code != 0:
        return Ending(
            JailStatus.disk, f"a file system of {limits.disk_mb} MiB and {limits.inodes} files is full"
        )
    return None


def _own_ending(facts: Facts, limits: Limits) -> Ending | None:
    if facts.stop is Stop.caller:
        return Ending(JailStatus.signal, STOPPED)
    if facts.stop is Stop.lost:
        return Ending(JailStatus.signal, "the jail was killed from inside")
    if facts.died_of is not None:
        return Ending(JailStatus.signal)
    return Ending(JailStatus.ok if facts.code == 0 else JailStatus.exit)


_RULES: tuple[Rule, ...] = (_infra, _memory, _output, _processes, _time, _denied, _disk, _own_ending)
