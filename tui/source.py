"""Where the screens get their facts: a `Snapshot` of one run, read from the store and never written to it.

A `Source` polls; it reads only when a writer committed. It follows the newest run unless one was named. When the
writer is gone it falls back to an immutable view, and leaves it as soon as a writer is back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance.errors import NotFoundError, StoreError
from appliance.reads import Reads, Row, number
from appliance.reviews import MOST_MEMBERS, Sight, see, waiting

UPDATES_SHOWN = 500
EVENTS_SHOWN = 20
ATTEMPT_CHARACTERS = 4000
SHOWN_ELSEWHERE = ("stage", "update.started")
PHASE_KINDS = ("evaluation.started", "evaluation.done", "update.started", "update.done")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that the screens show of one moment. Strings in it are untrusted until cleaned."""

    time: float
    """When it was read, Unix seconds."""
    frozen: bool
    """Read from an immutable view: no writer, nothing will change."""
    run: Row | None = None
    """None when the store holds no run."""
    updates: tuple[Row, ...] = ()
    """The newest updates, oldest first."""
    pass_rates: tuple[tuple[int, float | None], ...] = ()
    """Step and held-out pass rate of each evaluation."""
    live: Mapping[str, Any] = field(default_factory=dict)
    sign_of_life: float = 0.0
    """When the run last wrote anything."""
    events: tuple[Row, ...] = ()
    """The newest events but `SHOWN_ELSEWHERE`, newest first."""
    stage: Row | None = None
    """The last `stage` event."""
    phase: Row | None = None
    """The last event that began or ended an update or an evaluation."""
    failure: Row | None = None
    groups: Mapping[str, int] = field(default_factory=dict)
    """Groups of the current step by state."""
    attempt: Row | None = None
    """The newest attempt."""

    def metric(self, name: str) -> list[float | None]:
        """One metric over the updates."""
        return [number(row["metrics"].get(name)) for row in self.updates]

    @property
    def last(self) -> Mapping[str, Any]:
        """The metrics of the last update, empty before the first."""
        found: Mapping[str, Any] = self.updates[-1]["metrics"] if self.updates else {}
        return found

    @property
    def evaluating(self) -> bool:
        return self.phase is not None and self.phase["kind"] == "evaluation.started"


class Source:
    """A store being watched. `run_id` None follows the newest run."""

    def __init__(self, path: Path, run_id: str | None = None) -> None:
        """Raises NotFoundError for a missing store or run, StoreError for a file that cannot be read."""
        self.path, self.run_id = path, run_id
        self._reads, self._inode = Reads(path), _inode(path)
        if run_id is not None:
            self._reads.run(run_id)

    def close(self) -> None:
        self._reads.close()

    def moved(self) -> bool:
        """Whether there may be news. Raises StoreError when the file is gone."""
        if _inode(self.path) != self._inode or (self._reads.frozen and _log(self.path)):
            self.reopen()
            return True
        return self._reads.moved()

    def reopen(self) -> None:
        """Open the file afresh; keeps the old view when it cannot be opened."""
        try:
            fresh = Reads(self.path)
        except NotFoundError as error:
            raise StoreError(error.message, remedy=error.remedy) from error
        self._reads.close()
        self._reads, self._inode = fresh, _inode(self.path)

    def docket(self, uid: int) -> list[Row]:
        """What waits for a reviewer, in order. Raises StoreError."""
        reads = self._reads
        with reads.consistent():
            return [dict(row) for row in waiting(reads.reviews("open"), reads.opinions(), uid)]

    def sight(self, item: Row, uid: int) -> tuple[Sight, Row]:
        """One item as the reviewer may see it now, and the recipe of its run. Raises StoreError."""
        reads = self._reads
        with reads.consistent():
            members = reads.members(item["group_id"], MOST_MEMBERS)
            seen = see(item, reads.opinions(), members, uid)
            try:
                return seen, dict(reads.run(item["run_id"])["recipe"])
            except NotFoundError:
                return seen, {}

    def snapshot(self, now: float) -> Snapshot:
        """Read everything the screens show, as of one moment."""
        reads = self._reads
        with reads.consistent():
            run_id = self.run_id or reads.newest_run()
            if run_id is None:
                return Snapshot(now, reads.frozen)
            return _read(reads, run_id, now)


def _read(reads: Reads, run_id: str, now: float) -> Snapshot:
    run, live = reads.run(run_id), reads.live(run_id)
    events, stage = reads.events(run_id, EVENTS_SHOWN, SHOWN_ELSEWHERE), reads.last_event(run_id, ("stage",))
    attempt = reads.newest_attempt(run_id, ATTEMPT_CHARACTERS)
    phase = reads.last_event(run_id, PHASE_KINDS)
    seen = [run["created"], live and live["time"], attempt and attempt["created"]]
    seen += [event["time"] for event in (stage, *events[:1]) if event]
    return Snapshot(
        time=now,
        frozen=reads.frozen,
        run=run,
        updates=tuple(reads.updates(run_id, UPDATES_SHOWN)),
        pass_rates=tuple(reads.pass_rates(run_id)),
        live=live["data"] if live else {},
        sign_of_life=max((number(time) or 0.0 for time in seen), default=0.0),
        events=tuple(events),
        stage=stage,
        phase=phase,
        failure=reads.last_event(run_id, ("run.failed",)) if run["state"] == "failed" else None,
        groups=_groups(reads, run_id, phase),
        attempt=attempt,
    )


def _groups(reads: Reads, run_id: str, phase: Row | None) -> dict[str, int]:
    step = phase and phase["data"].get("step")
    if phase is None or not isinstance(step, int):
        return {}
    return reads.group_states(run_id, step, "eval" if phase["kind"].startswith("evaluation") else "train")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}", remedy="the store was moved or deleted") from error


def _log(path: Path) -> bool:
    """Whether a writer left something in the write-ahead log."""
    with contextlib.suppress(OSError):
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    return False
