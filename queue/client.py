"""The queue as its users see it: submit, wait, look, cancel. Any process that may write the file can be one.

A submitted job and the ring that starts it are one transaction: both are there or neither is. A wait is woken by
jobs that finish in this process and looks every `poll_s` for those that finish elsewhere.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.errors import StoreError, UsageError
from appliance.queue import estimates, jobs
from appliance.queue.app import Doorbell
from appliance.queue.figures import ClassFigures, figures
from appliance.queue.file import QueueFile
from appliance.queue.records import CLASSES, DEPTHS, POOLS, Busy, Job, Request
from appliance.tables import nearest

POLL_S = 0.1
RATE_S, MAX_RETRY_S = 60.0, 600.0
"""How far back the rate of finished jobs is measured, and the longest wait that a refusal names."""
PATIENCE_S = 5.0
"""How long workers may fail to use the queue file before a wait gives up."""


class Queue:
    """The queue of one installation, open. Context manager; every method may be called from any thread."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        depths: Mapping[str, int] = DEPTHS,
    ) -> None:
        """`depths`: how many jobs of a class may wait."""
        self.file = QueueFile(path)
        self._depths = depths
        self.clock, self.monotonic = clock, monotonic
        self._doorbells: dict[str, Doorbell] = {}
        self._opening = threading.Lock()
        self._finished = threading.Condition()
        self._finishes = 0
        self._trouble: tuple[StoreError, float] | None = None

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self,
        class_: str,
        payload: Mapping[str, Any],
        *,
        key: str | None = None,
        priority: int = 0,
        group: str = "",
        deadline_s: float | None = None,
        max_attempts: int = 3,
        label: str = "",
        cost_s: float | None = None,
    ) -> str:
        """Queue a job and return its id; a key that is known returns the job it named first. Raises Busy."""
        request = Request(class_, payload, key, priority, group, deadline_s, max_attempts, label, cost_s)
        return self.submit_many([request])[0]

    def submit_many(self, requests: Sequence[Request]) -> list[str]:
        """Queue all or none of the jobs as one batch; return their ids. Raises Busy when too many of a class wait."""
        for request in requests:
            _check(request)
        doorbells = {name: self.doorbell(POOLS[name]) for name in {request.class_ for request in requests}}
        rings: Counter[Doorbell] = Counter()
        ids, now = [], self.clock()
        with self.file.write() as connection:
            self._admit(connection, Counter(request.class_ for request in requests), now)
            costs = _costs(connection, requests)
            batch = jobs.next_seq(connection) if len(requests) > 1 else None
            for request in requests:
                cost_s = costs[request.class_, request.label] if request.cost_s is None else request.cost_s
                id_, is_new = jobs.insert(connection, request, batch, cost_s, now)
                if is_new:
                    doorbells[request.class_].post()
                    rings[doorbells[request.class_]] += 1
                ids.append(id_)
        for doorbell, count in rings.items():
            doorbell.bell.ring(count)
        return ids

    def _admit(self, connection: sqlite3.Connection, wanted: Mapping[str, int], now: float) -> None:
        """Raise Busy for a class of which more would wait than may; say when so many will have been worked off."""
        for class_, count in wanted.items():
            waiting = jobs.queued(connection, class_)
            excess = waiting + count - self._depths[class_]
            # A batch larger than the depth is taken when nothing waits: it could never be otherwise.
            if excess > 0 and waiting:
                rate = jobs.rate(connection, class_, now - RATE_S, now)
                retry_s = min(MAX_RETRY_S, max(1.0, excess / rate)) if rate else MAX_RETRY_S
                raise Busy(class_, waiting, retry_s)

    def wait(self, ids: Sequence[str], timeout_s: float | None = None, poll_s: float = POLL_S) -> list[Job]:
        """Return the jobs, in the order of `ids`, when all are finished or the time is over.

        Raises StoreError when the workers of this process have not been able to use the queue file for a while.
        """
        give_up = None if timeout_s is None else self.monotonic() + timeout_s
        while True:
            seen = self._finishes
            left = poll_s if give_up is None else min(poll_s, give_up - self.monotonic())
            if left <= 0 or not jobs.count_open(self.file, ids):
                return jobs.load(self.file, ids)
            self._check_trouble()
            self._rest(seen, left)

    def first(
        self, ids: Sequence[str], count: int, timeout_s: float | None = None
    ) -> tuple[list[Job], list[Job]]:
        """Wait until `count` of the jobs are done and cancel the others; return the done ones and the dropped ones.

        A job that fails is dropped too. Fewer than `count` come back when too many failed or the time is over.
        """
        give_up = None if timeout_s is None else self.monotonic() + timeout_s
        while True:
            seen = self._finishes
            found = jobs.load(self.file, ids)
            done = [job for job in found if job.state == "done"]
            left = POLL_S if give_up is None else min(POLL_S, give_up - self.monotonic())
            if len(done) >= count or left <= 0 or not any(job.open for job in found):
                break
            self._check_trouble()
            self._rest(seen, left)
        kept = {job.id for job in sorted(done, key=lambda job: job.finished or 0.0)[:count]}
        if late := [job.id for job in found if job.open]:
            self._cancelled(jobs.cancel(self.file, self.clock(), ids=late))
        ended = jobs.load(self.file, ids)
        return [job for job in ended if job.id in kept], [job for job in ended if job.id not in kept]

    def _rest(self, seen: int, seconds: float) -> None:
        with self._finished:
            self._finished.wait_for(lambda: self._finishes != seen, seconds)

    def job(self, id_: str) -> Job:
        """Raises NotFoundError."""
        return jobs.load(self.file, [id_])[0]

    def jobs(
        self, class_: str | None = None, state: str | None = None, group: str | None = None, limit: int = 100
    ) -> list[Job]:
        """The newest jobs first that match."""
        filters = {"class": class_, "state": state, "group": group}
        return jobs.select(self.file, {name: v for name, v in filters.items() if v is not None}, limit)

    def history(self, id_: str) -> list[dict[str, Any]]:
        """The attempts at a job that have ended, oldest first."""
        return jobs.history(self.file, id_)

    def counts(self) -> dict[str, dict[str, int]]:
        """Number of jobs by class and state, over everything the file holds."""
        return jobs.counts(self.file)

    def depth(self) -> dict[str, int]:
        """Number of jobs by class that are queued or leased."""
        return jobs.depth(self.file)

    def figures(self) -> dict[str, ClassFigures]:
        """What every class has done lately."""
        return figures(self.file, self.clock())

    def cancel(self, id_: str) -> bool:
        """Cancel a job; False when it had ended already. A handler at work on it is told, not stopped."""
        return self._cancelled(jobs.cancel(self.file, self.clock(), ids=[id_])) > 0

    def cancel_group(self, group: str) -> int:
        """Cancel every open job of a group; return how many there were."""
        return self._cancelled(jobs.cancel(self.file, self.clock(), group=group))

    def _cancelled(self, count: int) -> int:
        if count:
            self.tell_finished()
        return count

    # for the workers of this process

    def doorbell(self, pool: str) -> Doorbell:
        with self._opening:
            if pool not in self._doorbells:
                self._doorbells[pool] = Doorbell(pool, self.file, self.note_trouble)
            return self._doorbells[pool]

    def tell_finished(self) -> None:
        """Wake whoever waits in this process."""
        with self._finished:
            self._finishes += 1
            self._finished.notify_all()

    def note_trouble(self, error: StoreError) -> None:
        """A worker could not use the queue file; the first time of a series counts."""
        since = self._trouble[1] if self._trouble else self.monotonic()
        self._trouble = error, since

    def clear_trouble(self) -> None:
        self._trouble = None

    def _check_trouble(self) -> None:
        trouble = self._trouble
        if trouble and self.monotonic() - trouble[1] > PATIENCE_S:
            raise StoreError(trouble[0].message, remedy=trouble[0].remedy)


def _costs(connection: sqlite3.Connection, requests: Sequence[Request]) -> dict[tuple[str, str], float]:
    wanted = {(request.class_, request.label) for request in requests if request.cost_s is None}
    return {(class_, label): estimates.cost_s(connection, class_, label) for class_, label in wanted}


def _check(request: Request) -> None:
    if request.class_ not in CLASSES:
        raise UsageError(f"no class of jobs {request.class_!r}", remedy=nearest(request.class_, CLASSES))
    if request.cost_s is not None and not 0 <= request.cost_s < float("inf"):
        raise UsageError(f"cost_s is {request.cost_s}", remedy="CPU seconds, 0 or more")
    if request.max_attempts < 1:
        raise UsageError(f"max_attempts is {request.max_attempts}", remedy="at least 1")
