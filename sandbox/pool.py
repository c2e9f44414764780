"""Jails kept ready: past namespaces, mounts and interpreter, waiting for an order.

Cells are single-use; a background thread replaces what was taken. How many are kept follows demand: as many as
arrive in the time it takes to make that many again (Little's law), within a cap on memory. Cells that have waited too
long and zygotes that have forked too often are replaced. Limits and clocks apply when a cell is taken.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from appliance.errors import SandboxError
from appliance.sandbox.cell import Cell, Host, Shape
from appliance.sandbox.changes import Tree
from appliance.sandbox.nest import Nest
from appliance.sandbox.policy import Limits

IDLE_MIB = 8
"""What an idle warm jail may cost; `appliance bench jail` measures what it does cost."""
MAX_IDLE = 32
MAX_AGE_S = 120.0
MAX_FORKS = 5000
RATE_MEMORY_S = 2.0
"""Demand is averaged over about this long."""
TICK_S = 5.0

Clock = Callable[[], float]


@dataclass
class Shelf:
    """The waiting cells of one shape, the oldest first, and how fast they go."""

    shape: Shape
    cells: deque[tuple[float, Cell]] = field(default_factory=deque)
    rate: float = 0.0
    """Cells taken per second, averaged."""
    taken_at: float = float("-inf")

    def note(self, now: float) -> None:
        """Count one arrival."""
        gap = max(now - self.taken_at, 1e-4)
        weight = min(1.0, gap / RATE_MEMORY_S)
        self.rate += weight * (1 / gap - self.rate) if gap < MAX_AGE_S else 1 / RATE_MEMORY_S
        self.taken_at = now

    def forget(self) -> None:
        self.rate, self.taken_at = 0.0, float("-inf")

    def wanted(self, now: float, refill_s: float, most: int) -> int:
        """How many to keep: demand over the time of a refill, with one more for every burst; none when unused."""
        if now - self.taken_at > MAX_AGE_S:
            return 0
        return min(most, 2 + round(2 * self.rate * refill_s))


class Pool:
    """Warm cells by shape; safe to use from many threads."""

    def __init__(self, host: Host, clock: Clock = time.monotonic) -> None:
        self._host, self._clock = host, clock
        self._lock = threading.Lock()
        self._making = threading.Lock()
        """Held while the refilling thread makes a cell."""
        self._work = threading.Condition(self._lock)
        self._shelves: dict[Shape, Shelf] = {}
        self._nest = Nest(host)
        self._retired: list[tuple[Nest, int]] = []
        self._refill_s = 0.01
        self._closed = False
        self._thread = threading.Thread(target=self._refill, name="jail pool", daemon=True)
        self._thread.start()

    def take(self, limits: Limits, shape: Shape) -> Cell:
        """A cell of the wanted shape: a waiting one, or a new one."""
        with self._lock:
            shelf = self._shelves.setdefault(shape, Shelf(shape))
            shelf.note(self._clock())
            cell = shelf.cells.popleft()[1] if shelf.cells else None
            self._work.notify()
        return cell or self.make(limits, shape)

    def waiting(self) -> list[Cell]:
        """The cells on the shelves."""
        with self._lock:
            return [cell for shelf in self._shelves.values() for _, cell in shelf.cells]

    def rest(self) -> None:
        """Keep nothing ready until the next order."""
        with self._lock:
            for shelf in self._shelves.values():
                shelf.forget()
        # What was being made then is on its shelf now.
        with self._making, self._lock:
            cells = [cell for shelf in self._shelves.values() for _, cell in shelf.cells]
            for shelf in self._shelves.values():
                shelf.cells.clear()
        for cell in cells:
            cell.discard()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._work.notify()
        self._thread.join()
        for shelf in self._shelves.values():
            for _, cell in shelf.cells:
                cell.discard()
        self._nest.close()

    def make(self, limits: Limits, shape: Shape, start: Tree | None = None) -> Cell:
        """A cell from the current zygote; a new zygote when that one is gone or worn."""
        for _ in range(2):
            with self._lock:
                if self._nest.dead or self._nest.made >= MAX_FORKS:
                    self._renew()
                nest = self._nest
            try:
                return Cell(self._host, limits, shape, nest, start)
            except SandboxError:
                if not nest.dead:
                    raise
        raise SandboxError("zygotes of warm jails die as they start", remedy="appliance doctor jail")

    def _renew(self) -> None:
        """A new zygote; jails of the old one that still run end with it only when the zygote is dead already."""
        old, self._nest = self._nest, Nest(self._host)
        if old.dead:
            old.close()
        else:
            self._retired.append((old, self._host.identities.live))

    def _refill(self) -> None:
        while True:
            with self._lock:
                if not self._closed and not self._behind():
                    self._work.wait(TICK_S)
                if self._closed:
                    return
                stale = self._outdated()
                shelf = self._behind()
            for cell in stale:
                cell.discard()
            if shelf is not None:
                with self._making:
                    self._add(shelf)

    def _behind(self) -> Shelf | None:
        """The shelf that lacks most."""
        now = self._clock()
        most = MAX_IDLE // max(1, len(self._shelves))
        lacks = [
            (shelf.wanted(now, self._refill_s, most) - len(shelf.cells), index, shelf)
            for index, shelf in enumerate(self._shelves.values())
        ]
        lack, _, shelf = max(lacks, default=(0, 0, None))
        return shelf if lack > 0 else None

    def _outdated(self) -> list[Cell]:
        now, found = self._clock(), []
        for shelf in self._shelves.values():
            while shelf.cells and now - shelf.cells[0][0] > MAX_AGE_S:
                found.append(shelf.cells.popleft()[1])
        return found

    def _add(self, shelf: Shelf) -> None:
        begun = self._clock()
        try:
            cell = self.make(shelf.shape.limits, shelf.shape)
        except SandboxError:
            # Whoever takes from an empty shelf makes a cell and gets the error; here nobody could act on it.
            time.sleep(TICK_S)
            return
        self._refill_s += 0.2 * (self._clock() - begun - self._refill_s)
        with self._lock:
            if not self._closed:
                shelf.cells.append((self._clock(), cell))
                return
        cell.discard()
