"""One cgroup leaf: a jail's limits on its whole tree, its accounting, and the end of everything in it.

Limits are verified, not assumed: each is read back after it was written, and a file that is missing or holds another
value is an error, because a service manager can take a controller away at any time. Files are opened by their whole
path and never created. All sizes are bytes, all times seconds.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox import kernfs
from appliance.sandbox.policy import Limits

OVERHEAD_MIB = 8
"""Added to the memory limit: nsjail and the init live in the leaf too."""
OVERHEAD_PIDS = 2
CHARGE_BATCH_BYTES = 1 << 20
PERIOD_US = 100_000
KILL_PATIENCE_S = 5.0
FREEZE_PATIENCE_S = 0.1


@dataclass(frozen=True, slots=True)
class Usage:
    """What a leaf has counted."""

    cpu_s: float
    peak_bytes: int | None
    oom_kills: int
    met_limit: bool
    """Memory came to the leaf's own limit."""
    pids_hits: int
    peak_pids: int | None = None
    """Most processes and threads at one time; None before kernel 6.1."""


class Crowded(SandboxError):
    """A leaf holds more memory than its new limit: what is in it put it there, and the host did nothing wrong."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A file of a leaf, and the text it must hold for a limit to be in force."""

    limit: str
    path: str
    text: str
    given: str = ""
    """The file that tells what came of it, where that is another one."""

    def apply(self) -> None:
        """Write and read back; SandboxError when the limit is not in force afterwards."""
        try:
            held = kernfs.written(self.path, self.text)
            held = kernfs.read(self.given).strip() if self.given else held
        except OSError as error:
            if error.errno == errno.EBUSY and self.limit == "memory_mb":
                raise Crowded(f"cannot set limit memory_mb: more is in use than {self.text} bytes") from error
            raise self._error(error.strerror or str(error)) from error
        if not self.met_by(held):
            raise self._error(f"it holds {held!r} where {self.text!r} was written")

    def met_by(self, held: str) -> bool:
        """The kernel writes lists of processors its own way."""
        lists = self.path.rpartition("/")[2].startswith("cpuset.")
        return held == self.text or (lists and kernfs.numbers(held) == kernfs.numbers(self.text))

    def _error(self, why: str) -> SandboxError:
        remedy = "leave the limit out, or delegate its controller to this process (docs/cgroups.md)"
        return SandboxError(f"cannot set limit {self.limit}: {self.path}: {why}", remedy=remedy)


class Leaf(ABC):
    """The cgroup of one jail, from its limits to its removal; `remove` also closes what it holds open."""

    JOIN = "cgroup.procs"

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = tuple(dict.fromkeys(folders))
        self.swap_limited = True
        """Memory cannot leave for swap: it is limited too, or there was none when the limits were set."""

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(map(Path, self._folders))

    @property
    def joins(self) -> list[str]:
        """Files that a process of one thread writes 0 to, all of them in this order, in order to belong here."""
        return [f"{folder}/{self.JOIN}" for folder in self._folders]

    def open_joins(self) -> list[int]:
        """The same as write-only descriptors, for a process that cannot reach the files; the caller closes them."""
        opened: list[int] = []
        try:
            for path in self.joins:
                opened.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
        except OSError:
            for fd in opened:
                os.close(fd)
            raise
        return opened

    def create(self, limits: Limits) -> None:
        """Make the folders and set every limit; OSError or SandboxError when one cannot be had, and no leaf then."""
        try:
            for folder in self._folders:
                os.mkdir(folder)  # noqa: PTH102
            self.limit(limits)
        except BaseException:
            self._rmdir()
            raise

    def limit(self, limits: Limits) -> None:
        """Set and verify every limit, also on a leaf that is in use; SandboxError when one is not in force.

        Crowded when more memory is in use already, which cannot be reclaimed.
        """
        for setting in self._settings(limits):
            setting.apply()

    def kill(self) -> None:
        """Signal every process at once; the ends come in their own time."""
        with kernfs.gone_is_fine():
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
        """Every process in the leaf and below; one that our process namespace does not show is left out."""
        # Not only of one folder: a process that is still joining is in the first ones.
        found: set[int] = set()
        for top in self._folders:
            with kernfs.gone_is_fine():
                found |= {
                    int(pid)
                    for folder in kernfs.tree(top)
                    for pid in kernfs.read(f"{folder}/cgroup.procs").split()
                }
        # Those not shown go by 0, which as a target of a signal would be our own group.
        return sorted(found - {0})

    def cpu_s(self) -> float:
        """User and system time so far; SandboxError when the leaf no longer counts it."""
        with _accounting():
            return self._cpu_s()

    def usage(self) -> Usage:
        """Everything counted so far; SandboxError when the leaf no longer counts it."""
        with _accounting():
            return self._usage()

    @abstractmethod
    def _cpu_s(self) -> float: ...

    @abstractmethod
    def _usage(self) -> Usage: ...

    @abstractmethod
    def reset_peak(self) -> None:
        """Count peak memory from now on, where the kernel can (version 1; version 2 from 6.12)."""

    @abstractmethod
    def _settings(self, limits: Limits) -> list[Setting]: ...

    @abstractmethod
    def _kill_all(self) -> None: ...

    def _signal_all(self) -> None:
        for pid in self.pids():
            # Who may not be signalled is found out by `remove`, which then does not succeed.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def _rmdir(self) -> bool:
        return all(map(kernfs.removed, self._folders))

    def _note_swap(self, path: str) -> bool:
        """Whether this kernel limits swap through `path`; remembers what follows from it."""
        has = os.path.exists(path)  # noqa: PTH110
        self.swap_limited = has or not kernfs.swap_is_on()
        return has


class LeafV1(Leaf):
    """A folder in each hierarchy that is asked for: memory, pids, cpuacct, freezer, and at will cpu and cpuset."""

    JOIN = "tasks"
    """To move a thread that moves itself, the kernel need not stop all forks of the host, which takes milliseconds."""

    def __init__(self, folders: dict[str, str]) -> None:
        # The freezer comes last, so that what is still to be removed can still be killed.
        super().__init__([folders[name] for name in sorted(folders, key="freezer".__eq__)])
        self._at = folders
        self._size = 0

    def _settings(self, limits: Limits) -> list[Setting]:
        pids = Setting("pids", f"{self._at['pids']}/pids.max", str(limits.pids + OVERHEAD_PIDS))
        return [*self._memory(limits), pids, *self._cpu(limits), *self._cpuset(limits)]

    def _memory(self, limits: Limits) -> list[Setting]:
        folder, size = self._at["memory"], (limits.memory_mb + OVERHEAD_MIB) << 20
        names = ["memory.limit_in_bytes"]
        if self._note_swap(f"{folder}/memory.memsw.limit_in_bytes"):
            names.append("memory.memsw.limit_in_bytes")
        # Memory with swap may at no time be less than memory alone.
        if 0 < self._size < size:
            names.reverse()
        self._size = size
        return [Setting("memory_mb", f"{folder}/{name}", str(size)) for name in names]

    def _cpu(self, limits: Limits) -> list[Setting]:
        if "cpu" not in self._at:
            return _none_but("cpus", limits.cpus)
        quota = round(limits.cpus * PERIOD_US) or -1
        pairs = {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": quota}
        return [Setting("cpus", f"{self._at['cpu']}/{name}", str(value)) for name, value in pairs.items()]

    def _cpuset(self, limits: Limits) -> list[Setting]:
        if "cpuset" not in self._at:
            return _none_but("cpuset", limits.cpuset)
        folder = self._at["cpuset"]
        above = folder.rpartition("/")[0]
        # Both begin empty, and nothing can join before they are filled.
        memory = kernfs.read(f"{above}/cpuset.mems").strip()
        wanted = limits.cpuset or kernfs.read(f"{above}/cpuset.cpus").strip()
        return [
            Setting("cpuset", f"{folder}/cpuset.mems", memory),
            Setting("cpuset", f"{folder}/cpuset.cpus", wanted),
        ]

    def _cpu_s(self) -> float:
        return int(kernfs.read(f"{self._at['cpuacct']}/cpuacct.usage")) / 1e9

    def _usage(self) -> Usage:
        memory, pids = self._at["memory"], self._at["pids"]
        peak = int(kernfs.read(f"{memory}/memory.max_usage_in_bytes"))
        return Usage(
            cpu_s=self._cpu_s(),
            peak_bytes=peak,
            oom_kills=kernfs.table(f"{memory}/memory.oom_control").get("oom_kill", 0),
            # The kernel's own counter of this, failcnt, stays 0 on recent kernels; charges come in batches.
            met_limit=peak >= self._size - CHARGE_BATCH_BYTES,
            pids_hits=kernfs.table(f"{pids}/pids.events").get("max", 0),
            peak_pids=kernfs.optional(f"{pids}/pids.peak"),
        )

    def reset_peak(self) -> None:
        kernfs.write(f"{self._at['memory']}/memory.max_usage_in_bytes", "0")

    def _kill_all(self) -> None:
        state = f"{self._at['freezer']}/freezer.state"
        if not self.pids():
            return
        try:
            # Frozen, nothing can fork past the list; the signals arrive when it thaws.
            kernfs.write(state, "FROZEN")
            _await(state, "FROZEN")
            self._signal_all()
        finally:
            # One below that was frozen by itself does not thaw with us.
            for folder in kernfs.tree(self._at["freezer"]):
                kernfs.write(f"{folder}/freezer.state", "THAWED")


class LeafV2(Leaf):
    """One folder of the unified hierarchy."""

    def __init__(self, folder: str) -> None:
        super().__init__((folder,))
        self._folder = folder
        self._peak = -1
        """A reset peak counts for the one open file it was reset through."""

    def limit(self, limits: Limits) -> None:
        with contextlib.suppress(FileNotFoundError):
            kept = kernfs.table(f"{self._folder}/memory.stat")
            # Nothing is refused here: to make it fit, the kernel would kill the session's init.
            if kept.get("anon", 0) + kept.get("shmem", 0) > (limits.memory_mb + OVERHEAD_MIB) << 20:
                raise Crowded("cannot set limit memory_mb: more is in use already")
        super().limit(limits)

    def _settings(self, limits: Limits) -> list[Setting]:
        here = self._folder
        swap = [Setting("memory_mb", f"{here}/memory.swap.max", "0")]
        return [
            # Swap first: memory that is pushed out by its limit must not find room there.
            *(swap if self._note_swap(f"{here}/memory.swap.max") else ()),
            Setting("memory_mb", f"{here}/memory.max", str((limits.memory_mb + OVERHEAD_MIB) << 20)),
            Setting("pids", f"{here}/pids.max", str(limits.pids + OVERHEAD_PIDS)),
            *self._cpu(limits),
            *self._cpuset(limits),
        ]

    def _cpu(self, limits: Limits) -> list[Setting]:
        path = f"{self._folder}/cpu.max"
        if not limits.cpus and not os.path.exists(path):  # noqa: PTH110
            return []
        quota = str(round(limits.cpus * PERIOD_US)) if limits.cpus else "max"
        return [Setting("cpus", path, f"{quota} {PERIOD_US}")]

    def _cpuset(self, limits: Limits) -> list[Setting]:
        path = f"{self._folder}/cpuset.cpus"
        if not limits.cpuset and not os.path.exists(path):  # noqa: PTH110
            return []
        # What is asked for is kept even where a folder above does not give it.
        return [Setting("cpuset", path, limits.cpuset, given=f"{path}.effective" if limits.cpuset else "")]

    def _cpu_s(self) -> float:
        return kernfs.table(f"{self._folder}/cpu.stat")["usage_usec"] / 1e6

    def _usage(self) -> Usage:
        memory = kernfs.table(f"{self._folder}/memory.events")
        return Usage(
            cpu_s=self._cpu_s(),
            peak_bytes=self._peak_bytes(),
            oom_kills=memory.get("oom_kill", 0),
            met_limit=memory.get("oom", 0) + memory.get("max", 0) > 0,
            pids_hits=kernfs.table(f"{self._folder}/pids.events").get("max", 0),
            peak_pids=kernfs.optional(f"{self._folder}/pids.peak"),
        )

    def _peak_bytes(self) -> int | None:
        if self._peak >= 0:
            return int(os.pread(self._peak, 64, 0))
        return kernfs.optional(f"{self._folder}/memory.peak")

    def reset_peak(self) -> None:
        if self._peak < 0:
            try:
                self._peak = os.open(f"{self._folder}/memory.peak", os.O_RDWR | os.O_CLOEXEC)
            except (FileNotFoundError, PermissionError):
                return
        os.write(self._peak, b"0")

    def remove(self) -> bool:
        if self._peak >= 0:
            os.close(self._peak)
            self._peak = -1
        return super().remove()

    def _kill_all(self) -> None:
        try:
            kernfs.write(f"{self._folder}/cgroup.kill", "1")
        except (FileNotFoundError, PermissionError):
            # Before kernel 5.14; without room to fork the list cannot be outrun.
            kernfs.write(f"{self._folder}/pids.max", "0")
            self._signal_all()


@contextlib.contextmanager
def _accounting() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "see whether something else on this host manages cgroups (docs/cgroups.md)"
        raise SandboxError(f"the cgroup of a jail cannot be read: {error}", remedy=remedy) from error


def _none_but(limit: str, wanted: object) -> list[Setting]:
    """No settings, on a leaf without the controller of a limit that is not wanted either."""
    if wanted:
        raise SandboxError(
            f"cannot set limit {limit}: this cgroup was made without it",
            remedy="ask for it when the jail is made",
        )
    return []


def _await(path: str, text: str) -> None:
    """Until a file holds `text`, or for as long as a freeze may take: some sleeps cannot be frozen."""
    deadline = time.monotonic() + FREEZE_PATIENCE_S
    while kernfs.read(path).strip() != text and time.monotonic() < deadline:
        time.sleep(0.0002)
