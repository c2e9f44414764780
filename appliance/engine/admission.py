"""The waiting line: who may be admitted next, so that a run does not depend on which thread was faster.

Requests without a place are served in order of arrival. Members of a batch are admitted strictly in index order,
and the first only once all have arrived. A member that stays away for `hold_s` after the last arrival is passed
over; should it come later, it goes first. A batch on hold does not block the line behind it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from appliance.engine.records import BatchPlace

T = TypeVar("T")

_MAX_IDLE_LANES = 256


@dataclass(slots=True)
class _Lane(Generic[T]):
    """One batch, or one request without a place (a batch of one)."""

    size: int
    waiting: list[tuple[int, int, T]] = field(default_factory=list)
    """A heap of (index, arrival, request)."""
    seen: set[int] = field(default_factory=set)
    next_index: int = 0
    opened: bool = False
    last_arrival: float = 0.0


class Line(Generic[T]):
    """The lanes in order of their first arrival."""

    def __init__(self, hold_s: float) -> None:
        self._hold_s = hold_s
        self._lanes: dict[str, _Lane[T]] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        return sum(len(lane.waiting) for lane in self._lanes.values())

    def add(self, request: T, place: BatchPlace | None, now: float) -> None:
        self._arrivals += 1
        self._forget_idle()
        name, index, size = (
            (f"batch {place.batch}", place.index, place.size) if place else (f"single {self._arrivals}", 0, 1)
        )
        lane = self._lanes.setdefault(name, _Lane(size))
        heapq.heappush(lane.waiting, (index, self._arrivals, request))
        lane.seen.add(index)
        lane.last_arrival = now

    def peek(self, now: float) -> T | None:
        """The request to admit next; None when nobody waits or all are on hold."""
        for lane in self._lanes.values():
            if lane.waiting and self._ready(lane, now):
                return lane.waiting[0][2]
        return None

    def pop(self, request: T) -> None:
        """Take the request that `peek` returned out of the line."""
        for name, lane in self._lanes.items():
            if lane.waiting and lane.waiting[0][2] is request:
                index, _, _ = heapq.heappop(lane.waiting)
                lane.opened = True
                lane.next_index = max(lane.next_index, index + 1)
                if lane.next_index >= lane.size and not lane.waiting:
                    del self._lanes[name]
                return

    def remove(self, gone: list[T]) -> None:
        """Take cancelled requests out, wherever they stand."""
        names = {id(request) for request in gone}
        for lane in self._lanes.values():
            lane.waiting = [entry for entry in lane.waiting if id(entry[2]) not in names]
            heapq.heapify(lane.waiting)
        self._forget_idle()

    def requests(self) -> list[T]:
        return [request for lane in self._lanes.values() for _, _, request in lane.waiting]

    def clear(self) -> None:
        self._lanes.clear()

    def next_hold_end(self) -> float | None:
        """When the next batch on hold will stop waiting for its missing member."""
        return min(
            (lane.last_arrival + self._hold_s for lane in self._lanes.values() if lane.waiting), default=None
        )

    def _ready(self, lane: _Lane[T], now: float) -> bool:
        if now - lane.last_arrival >= self._hold_s:
            return True
        if not lane.opened and len(lane.seen) < lane.size:
            return False
        return lane.waiting[0][0] <= lane.next_index

    def _forget_idle(self) -> None:
        """Drop what is left of batches that never became complete, oldest first."""
        if len(self._lanes) <= _MAX_IDLE_LANES:
            return
        idle = [name for name, lane in self._lanes.items() if not lane.waiting]
        for name in idle[: len(self._lanes) - _MAX_IDLE_LANES]:
            del self._lanes[name]
