"""Checks of the host itself: kernel, user namespaces, memory, disk, SQLite."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from appliance.doctor.findings import Finding, Machine, ask, bad, good, weak
from appliance.sandbox.host import fatal_problem

GIB = 1 << 30
KERNEL_NEEDED = (5, 3)
"""pidfd_open, by which jails are waited for."""
KERNEL_WANTED = (5, 19)
"""memory.peak; cgroup.kill came in 5.14."""
SQLITE_NEEDED = (3, 35, 0)
"""RETURNING."""
MEMORY_NEEDED, MEMORY_WANTED = 5 * GIB, 8 * GIB
DISK_NEEDED, DISK_WANTED = 4 * GIB, 10 * GIB
"""The starter model prepared for both sides takes 2.4 GiB; runs, store and checkpoints take the rest."""

_UNSHARE = """
import ctypes, os, sys
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)
failed = libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
sys.exit(os.strerror(ctypes.get_errno()) if failed else 0)
"""
"""A private mount is tried too: where AppArmor restricts user namespaces, only that fails."""


def kernel(machine: Machine) -> Finding:
    return kernel_finding(platform.system(), platform.release())


def kernel_finding(system: str, release: str) -> Finding:
    """Judge a kernel by its name and release."""
    if system != "Linux":
        return bad(f"{system} {release}", "use a Linux host; jails need Linux namespaces")
    numbers = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    if numbers < KERNEL_NEEDED:
        return bad(f"Linux {release}", f"upgrade to Linux {_dotted(KERNEL_NEEDED)} or newer")
    if numbers < KERNEL_WANTED:
        wanted = f"upgrade to Linux {_dotted(KERNEL_WANTED)} for peak memory and atomic kills on cgroup v2"
        return weak(f"Linux {release}", wanted)
    return good(f"Linux {release}, {platform.machine()}")


def user_namespaces(machine: Machine) -> Finding:
    answer = ask([machine.python, "-c", _UNSHARE], timeout_s=20)
    if not answer.ending:
        return good("a user namespace with private mounts can be made")
    problem = fatal_problem()
    reason = f" ({problem.text})" if problem else ""
    remedy = problem.remedy if problem else "start the container with user namespaces, or use the host itself"
    return bad(f"no user namespace can be made: {answer.complaint}{reason}", remedy)


def memory(machine: Machine) -> Finding:
    rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total, available = (int(rows[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return memory_finding(total, available)


def memory_finding(total: int, available: int) -> Finding:
    """Judge bytes of memory."""
    detail = f"{available / GIB:.1f} GiB available of {total / GIB:.1f} GiB"
    if available < MEMORY_NEEDED:
        return bad(detail, f"close programs or add memory until {MEMORY_NEEDED // GIB} GiB are available")
    if available < MEMORY_WANTED:
        return weak(detail, f"{MEMORY_WANTED // GIB} GiB leave room for jails beside training")
    return good(detail)


def disk(machine: Machine) -> Finding:
    folders = {nearest_folder(path) for path in (machine.paths.data, machine.paths.cache)}
    for folder in folders:
        if not os.access(folder, os.W_OK | os.X_OK):
            return bad(f"{folder} cannot be written", f"chown it to uid {os.getuid()}, or set APPLIANCE_HOME")
    tightest = min(folders, key=lambda folder: shutil.disk_usage(folder).free)
    return disk_finding(tightest, shutil.disk_usage(tightest).free)


def disk_finding(folder: Path, free: int) -> Finding:
    """Judge bytes of free disk."""
    detail = f"{free / GIB:.1f} GiB free at {folder}"
    remedy = f"free {{}} GiB at {folder}, or point APPLIANCE_HOME at a larger disk"
    if free < DISK_NEEDED:
        return bad(detail, remedy.format(DISK_NEEDED // GIB))
    return weak(detail, remedy.format(DISK_WANTED // GIB)) if free < DISK_WANTED else good(detail)


def nearest_folder(path: Path) -> Path:
    """The folder itself or the nearest one above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def sqlite(machine: Machine) -> Finding:
    """The version, and write-ahead logging on the file system that will hold the store."""
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < SQLITE_NEEDED:
        return bad(f"SQLite {version}", f"use a Python built with SQLite {_dotted(SQLITE_NEEDED)} or newer")
    folder = nearest_folder(machine.paths.data)
    with tempfile.TemporaryDirectory(prefix="appliance-doctor-", dir=folder) as scratch:
        mode = _journal_mode(Path(scratch) / "probe.db")
    if mode != "wal":
        return bad(f"SQLite {version}: {folder} refuses WAL", "put APPLIANCE_HOME on a local file system")
    return good(f"SQLite {version}, WAL works at {folder}")


def _journal_mode(path: Path) -> str:
    try:
        with closing(sqlite3.connect(path)) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("CREATE TABLE probe (x)")
            return str(mode)
    except sqlite3.Error as error:
        return str(error)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)
