"""How hard-pressed the machine is, and what that means for starting more: gates that close, slots that grow and shrink.

Read from /proc/pressure (PSI; kernels without it count as unpressed), /proc/meminfo, /proc/stat and the file system of
the queue file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIN_MEMORY_SHARE = 0.03
MIN_DISK_BYTES, MIN_DISK_SHARE = 256 * 2**20, 0.05
"""A disk that has less than both left is full: small ones are not full from the start."""
MAX_STALLED = 20.0
"""Percent of the last ten seconds in which every process waited for memory."""
CROWDED_CPU = 60.0
"""Percent of the last ten seconds in which some process waited for a core."""
IDLE_CPU = 0.25
"""Share of the cores' time that must be idle before one more slot can help."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """The machine at one moment."""

    memory_share: float = 1.0
    """Of the memory, what could be had without swapping."""
    memory_stalled: float = 0.0
    cpu_waiting: float = 0.0
    cpu_idle: float = 1.0
    """Share of the cores' time since the look before."""
    disk_bytes: int = 2**62
    disk_share: float = 1.0

    @property
    def closed(self) -> str:
        """Why nothing but what is interactive should start; empty when all may."""
        if self.memory_share < MIN_MEMORY_SHARE:
            return f"memory: {100 * self.memory_share:.0f} % left"
        if self.memory_stalled > MAX_STALLED:
            return f"memory: all processes waited for it {self.memory_stalled:.0f} % of the time"
        if self.disk_bytes < MIN_DISK_BYTES and self.disk_share < MIN_DISK_SHARE:
            return f"disk: {self.disk_bytes // 2**20} MiB left"
        return ""


class Gauge:
    """Reads the pressure; remembers the last look for what is a rate."""

    def __init__(self, folder: Path, proc: Path = Path("/proc")) -> None:
        self._folder, self._proc = folder, proc
        self._ticks = self._idle = 0

    def read(self) -> Pressure:
        """Raises nothing: what cannot be read counts as unpressed."""
        disk_bytes, disk_share = self._disk()
        return Pressure(
            memory_share=self._memory_share(),
            memory_stalled=self._psi("memory", "full"),
            cpu_waiting=self._psi("cpu", "some"),
            cpu_idle=self._cpu_idle(),
            disk_bytes=disk_bytes,
            disk_share=disk_share,
        )

    def _text(self, name: str) -> str:
        try:
            return (self._proc / name).read_text(encoding="ascii")
        except (OSError, ValueError):
            return ""

    def _psi(self, what: str, line: str) -> float:
        """The `avg10` of a line of a PSI file; see Documentation/accounting/psi.rst."""
        for words in map(str.split, self._text(f"pressure/{what}").splitlines()):
            if words[0] == line:
                return float(words[1].partition("=")[2])
        return 0.0

    def _memory_share(self) -> float:
        rows = dict(row.split(":") for row in self._text("meminfo").splitlines())
        if not {"MemTotal", "MemAvailable"} <= rows.keys():
            return 1.0
        return int(rows["MemAvailable"].split()[0]) / int(rows["MemTotal"].split()[0])

    def _cpu_idle(self) -> float:
        words = self._text("stat").partition("\n")[0].split()[1:9]
        if len(words) < 5:
            return 1.0
        ticks, idle = sum(map(int, words)), int(words[3]) + int(words[4])
        passed, rested = ticks - self._ticks, idle - self._idle
        self._ticks, self._idle = ticks, idle
        return rested / passed if passed else 1.0

    def _disk(self) -> tuple[int, float]:
        try:
            found = os.statvfs(self._folder)
        except OSError:
            return 2**62, 1.0
        return found.f_bavail * found.f_frsize, found.f_bavail / max(1, found.f_blocks)


class Slots:
    """How many jobs of a pool may run at once: between `least` and `most`, some of them for short jobs only."""

    def __init__(self, most: int, begin: int, *, reserved: int = 0, on_room: Callable[[], None]) -> None:
        """`on_room` is called, without a lock, when a slot is free that somebody was refused."""
        self._lock = threading.Lock()
        self._most, self._reserved, self._on_room = most, reserved, on_room
        self.limit = min(most, begin)
        self.running = self._owed = 0

    def take(self) -> str:
        """`any` or `short`: what may start now; empty when nothing may, and that is owed."""
        with self._lock:
            if self.running >= self.limit:
                self._owed += 1
                return ""
            kept = min(self._reserved, self.limit - 1)
            self.running += 1
            return "any" if self.running <= self.limit - kept else "short"

    def release(self, *, used: bool, picky: bool = False) -> None:
        """Give a slot back. `used`: something ran. `picky`: what waits may only have been too long for the slot."""
        with self._lock:
            self.running -= 1
            self._owed += picky and not used
            room = used and self._owed > 0
            self._owed -= room
        if room:
            self._on_room()

    def adapt(self, pressure: Pressure, *, wanted: bool) -> None:
        """Grow by one while cores are idle and jobs wait; shrink by a quarter when cores or memory run short."""
        with self._lock:
            if pressure.closed or pressure.cpu_waiting > CROWDED_CPU:
                self.limit = max(1, self.limit - max(1, self.limit // 4))
                return
            if not wanted or self.running < self.limit or pressure.cpu_idle < IDLE_CPU:
                return
            self.limit = min(self._most, self.limit + 1)
            room = self._owed > 0
            self._owed -= room
        if room:
            self._on_room()
