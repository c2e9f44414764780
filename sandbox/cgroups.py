"""One cgroup leaf per jail: limits on the whole tree, its accounting, and the end of everything in it.

The leaf is ours, not nsjail's: nsjail runs inside it, so that peak and counters can be read before it is removed.
Version 1 has a folder per controller, version 2 one folder; both lie beside the cgroup this process is in (on
version 2 below the root when that is not delegated to us). A controller is available when a leaf can be made, not
when a uid says so. A host without one gets reduced jails, never unlimited ones called full.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox.policy import Limits

OVERHEAD_MIB = 8
"""Added to the memory limit: nsjail and the init live in the leaf too."""
OVERHEAD_PIDS = 2
CHARGE_BATCH_BYTES = 1 << 20
PREFIX = "appliance-jail"
SUPERVISOR = "appliance-supervisor"
POOL = "appliance-jails"
KILL_PATIENCE_S = 5.0

_sequence = itertools.count()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a leaf has counted."""

    cpu_s: float
    peak_bytes: int | None
    oom_kills: int
    met_limit: bool
    """Memory came to the leaf's own limit."""
    pids_hits: int


class Leaf(ABC):
    """The cgroup of one jail, from its limits to its removal."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folders))

    @property
    def joins(self) -> list[str]:
        """Files that a process writes 0 to, in order to belong here."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def create(self, limits: Limits) -> None:
        try:
            for folder in self.folders:
                folder.mkdir()
            self._limit(limits)
        except OSError:
            self._rmdir()
            raise

    def kill(self) -> None:
        """Signal every process at once; the ends come in their own time."""
        with contextlib.suppress(FileNotFoundError):
            self._kill_all()

    def remove(self) -> bool:
        """Kill until the leaf is empty and remove it; False when something would not die in time."""
        deadline = time.monotonic() + KILL_PATIENCE_S
        pause = 0.0005
        while not self._rmdir():
            if time.monotonic() > deadline:
                return False
            self.kill()
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
        return True

    def pids(self) -> list[int]:
        return [int(line) for line in (self.folders[-1] / "cgroup.procs").read_text().split()]

    def cpu_s(self) -> float:
        """User and system time so far."""
        return self.usage().cpu_s

    @abstractmethod
    def usage(self) -> Usage: ...

    @abstractmethod
    def _limit(self, limits: Limits) -> None: ...

    @abstractmethod
    def _kill_all(self) -> None: ...

    def _signal_all(self) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _rmdir(self) -> bool:
        for folder in self.folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


class LeafV1(Leaf):
    """A folder each under memory, pids, cpuacct and freezer."""

    def __init__(self, memory: Path, pids: Path, cpu: Path, freezer: Path) -> None:
        super().__init__((memory, pids, cpu, freezer))
        self._memory, self._pids, self._cpu, self._freezer = memory, pids, cpu, freezer

    def _limit(self, limits: Limits) -> None:
        size = (limits.memory_mb + OVERHEAD_MIB) << 20
        _write(self._memory / "memory.limit_in_bytes", size)
        # Absent where the kernel does not account swap; memory is limited all the same.
        with contextlib.suppress(FileNotFoundError):
            _write(self._memory / "memory.memsw.limit_in_bytes", size)
        _write(self._pids / "pids.max", limits.pids + OVERHEAD_PIDS)

    def cpu_s(self) -> float:
        return _number(self._cpu / "cpuacct.usage") / 1e9

    def usage(self) -> Usage:
        peak = _number(self._memory / "memory.max_usage_in_bytes")
        limit = _number(self._memory / "memory.limit_in_bytes")
        return Usage(
            cpu_s=self.cpu_s(),
            peak_bytes=peak,
            oom_kills=_table(self._memory / "memory.oom_control").get("oom_kill", 0),
            # The kernel's own counter of this, failcnt, stays 0 on recent kernels; charges come in batches.
            met_limit=peak >= limit - CHARGE_BATCH_BYTES,
            pids_hits=_table(self._pids / "pids.events").get("max", 0),
        )

    def _kill_all(self) -> None:
        # Frozen, nothing can fork past the list; the signals arrive when it thaws.
        _write(self._freezer / "freezer.state", "FROZEN")
        try:
            self._signal_all()
        finally:
            _write(self._freezer / "freezer.state", "THAWED")


class LeafV2(Leaf):
    """One folder of the unified hierarchy."""

    def __init__(self, folder: Path) -> None:
        super().__init__((folder,))
        self._folder = folder

    def _limit(self, limits: Limits) -> None:
        _write(self._folder / "memory.max", (limits.memory_mb + OVERHEAD_MIB) << 20)
        with contextlib.suppress(FileNotFoundError):
            _write(self._folder / "memory.swap.max", 0)
        _write(self._folder / "pids.max", limits.pids + OVERHEAD_PIDS)

    def cpu_s(self) -> float:
        return _table(self._folder / "cpu.stat")["usage_usec"] / 1e6

    def usage(self) -> Usage:
        memory = _table(self._folder / "memory.events")
        peak = self._folder / "memory.peak"
        return Usage(
            cpu_s=self.cpu_s(),
            peak_bytes=_number(peak) if peak.exists() else None,
            oom_kills=memory.get("oom_kill", 0),
            met_limit=memory.get("oom", 0) + memory.get("max", 0) > 0,
            pids_hits=_table(self._folder / "pids.events").get("max", 0),
        )

    def _kill_all(self) -> None:
        try:
            _write(self._folder / "cgroup.kill", 1)
        except (FileNotFoundError, PermissionError):
            # Before kernel 5.14; without room to fork the list cannot be outrun.
            _write(self._folder / "pids.max", 0)
            self._signal_all()


@dataclass(frozen=True, slots=True)
class Nursery:
    """Where leaves are made: the parent folder of each controller, in the order the version wants."""

    version: int
    parents: tuple[Path, ...]

    def leaf(self, limits: Limits) -> Leaf:
        """A new leaf with its limits set."""
        name = f"{PREFIX}-{os.getpid()}-{_birth(os.getpid())}-{next(_sequence)}"
        leaf = self._named(name)
        try:
            leaf.create(limits)
        except OSError as error:
            raise SandboxError(
                f"cannot make a cgroup: {error}", remedy="appliance doctor says which controllers are usable"
            ) from error
        return leaf

    def sweep(self) -> int:
        """Kill and remove the leaves of processes that are gone; return how many."""
        orphans = {path.name for parent in self.parents for path in parent.glob(f"{PREFIX}-*-*-*")}
        orphans = {name for name in orphans if not _owner_lives(name)}
        return sum(self._named(name).remove() for name in orphans)

    def _named(self, name: str) -> Leaf:
        folders = [parent / name for parent in self.parents]
        return LeafV1(*folders) if self.version == 1 else LeafV2(*folders)


def nursery(proc: Path = Path("/proc")) -> tuple[Nursery | None, str]:
    """Where this process can make leaves, or None and why not."""
    own, mounts = _memberships(proc), _mounts(proc)
    try:
        found = _nursery_v1(own, mounts) if "memory" in own else _nursery_v2(own, mounts)
        probe = found.leaf(Limits())
        probe.usage()
        probe.remove()
    except (OSError, SandboxError, KeyError) as error:
        return None, f"no cgroup with memory and pids can be made: {error}"
    return found, ""


def _nursery_v1(own: dict[str, str], mounts: dict[str, tuple[Path, str]]) -> Nursery:
    names = ("memory", "pids", "cpuacct", "freezer")
    return Nursery(1, tuple(_place(mounts[name], own[name]) for name in names))


def _nursery_v2(own: dict[str, str], mounts: dict[str, tuple[Path, str]]) -> Nursery:
    mount, here = mounts[""][0], _place(mounts[""], own[""])
    if here.name == SUPERVISOR:
        return Nursery(2, (here.parent,))
    # Only the real root has no limits of its own and may hold processes beside leaves.
    if os.geteuid() == 0 and not (mount / "memory.max").exists() and not _is_delegated(here):
        return Nursery(2, (_pool(mount),))
    _move_aside(here)
    _enable(here)
    return Nursery(2, (here,))


def _is_delegated(folder: Path) -> bool:
    """As systemd marks a cgroup whose inside is not its own."""
    names = os.listxattr(folder) if folder.exists() else []
    return any(name in names for name in ("trusted.delegate", "user.delegate"))


def _pool(mount: Path) -> Path:
    pool = mount / POOL
    _enable(mount)
    pool.mkdir(exist_ok=True)
    _enable(pool)
    return pool


def _move_aside(folder: Path) -> None:
    """A cgroup with leaves may hold no process: its own move into a leaf beside ours."""
    aside = folder / SUPERVISOR
    aside.mkdir(exist_ok=True)
    for pid in (folder / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            _write(aside / "cgroup.procs", pid)


def _enable(folder: Path) -> None:
    _write(folder / "cgroup.subtree_control", "+memory +pids")


def _memberships(proc: Path) -> dict[str, str]:
    """Controller to our path in its hierarchy; the unified one goes by the empty name."""
    rows = [line.split(":", 2) for line in (proc / "self/cgroup").read_text().splitlines()]
    return {name: path for _, names, path in rows for name in names.split(",")}


def _mounts(proc: Path) -> dict[str, tuple[Path, str]]:
    """Controller to its mount point and the cgroup that is mounted there."""
    found: dict[str, tuple[Path, str]] = {}
    for line in (proc / "self/mountinfo").read_text().splitlines():
        head, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        place = (Path(head.split(" ")[4]), head.split(" ")[3])
        if kind == "cgroup2":
            found[""] = place
        elif kind == "cgroup":
            found.update(dict.fromkeys(options.split(","), place))
    return found


def _place(mount: tuple[Path, str], own: str) -> Path:
    """The folder of our cgroup, whose path may begin above what is mounted (in a container)."""
    point, top = mount
    inside = own.removeprefix(top) if top != "/" else own
    return point / inside.lstrip("/")


def _birth(pid: int) -> int:
    """Start time in ticks since boot: with the pid, a process's identity."""
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])


def _owner_lives(name: str) -> bool:
    pid, birth, _ = name.removeprefix(f"{PREFIX}-").split("-")
    try:
        return _birth(int(pid)) == int(birth)
    except (FileNotFoundError, ProcessLookupError):
        return False


def _write(path: Path, value: int | str) -> None:
    path.write_text(str(value))


def _number(path: Path) -> int:
    return int(path.read_text())


def _table(path: Path) -> dict[str, int]:
    """A file of `name number` lines."""
    return {name: int(number) for name, number in _pairs(path)}


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text().splitlines():
        name, _, number = line.partition(" ")
        yield name, number
