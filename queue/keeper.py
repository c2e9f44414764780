"""Keeps leases: beats for the jobs this process works on, and sweeps up after processes that are gone.

It runs in a thread of its own, never in one that does the work, so a handler that computes for an hour keeps
its lease and a process that hangs as a whole loses it. A sweep gives void leases back (with a back-off, or for
good after the last attempt), closes jobs past their deadline, copies jobs that are late (`hedges`), fits the number of
slots to the pressure on the machine, and rings for jobs that wait without a ring.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from appliance.errors import StoreError
from appliance.queue import estimates, hedges, jobs
from appliance.queue.app import Doorbell, EmbeddedConsumer
from appliance.queue.client import Queue
from appliance.queue.incarnation import is_dead
from appliance.queue.pressure import Gauge, Pressure, Slots
from appliance.queue.records import POOLS, Job, Report

HEALTH_S = 10.0
_log = logging.getLogger("appliance.queue")


@dataclass(frozen=True, slots=True)
class Lane:
    """A pool of this process: its consumer, the classes it works on, its slots."""

    consumer: EmbeddedConsumer
    classes: Sequence[str]
    slots: Slots

    @property
    def doorbell(self) -> Doorbell:
        doorbell: Doorbell = self.consumer.huey
        return doorbell


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the keeper does what, in seconds."""

    poll_s: float = 0.012
    """Looks for rings from other processes."""
    glance_s: float = 0.1
    """Copies jobs that are late, and tells handlers whose job is no longer theirs."""
    sweep_s: float = 0.5
    beat_s: float = 5.0
    lease_s: float = 30.0
    """A lease without a heartbeat for this long is void; several beats."""
    backoff_s: float = 0.5
    backoff_cap_s: float = 30.0

    def backoff(self, attempts: int, random: Callable[[], float]) -> float:
        """Exponential with full jitter: siblings that failed together do not come back together."""
        return random() * min(self.backoff_cap_s, self.backoff_s * 2.0 ** min(attempts - 1, 32))


PACE = Pace()


class Signal(Protocol):
    """Tells a handler that its job is lost."""

    def set(self) -> None: ...


class Leases:
    """The jobs this process holds; each with a flag that is set when it is no longer ours."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], tuple[Job, Signal]] = {}
        self._lock = threading.Lock()

    def add(self, job: Job, lost: Signal) -> None:
        with self._lock:
            self._held[job.id, job.token] = job, lost

    def drop(self, job: Job) -> None:
        with self._lock:
            self._held.pop((job.id, job.token), None)

    def all(self) -> list[tuple[Job, Signal]]:
        with self._lock:
            return list(self._held.values())


class Keeper:
    """The thread, from `start` to `stop`."""

    def __init__(
        self,
        queue: Queue,
        leases: Leases,
        lanes: Sequence[Lane],
        gauge: Gauge,
        owner: str,
        pace: Pace,
        random: Callable[[], float],
    ) -> None:
        self._queue, self._leases, self._lanes, self._gauge = queue, leases, lanes, gauge
        self.pressure = Pressure()
        self.beaten = queue.monotonic()
        """When the leases were last renewed, by the monotonic clock."""
        self._owner, self._pace, self._random = owner, pace, random
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queue-keeper", daemon=True)

    def start(self) -> None:
        """Sweep once in the calling thread, so that a queue file that cannot be used is the caller's error."""
        self._sweep()
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        clock = self._queue.monotonic
        beat = sweep = health = glance = clock()
        version = -1
        while not self._stopping.wait(self._pace.poll_s):
            now = clock()
            try:
                if now - beat >= self._pace.beat_s:
                    beat = now
                    self._beat()
                if now - glance >= self._pace.glance_s:
                    glance = now
                    self._notice_lost()
                    self._hedge()
                if now - sweep >= self._pace.sweep_s:
                    sweep = now
                    self._sweep()
                elif version != (version := self._queue.file.version()):
                    self._listen()
            except StoreError as error:
                self._queue.note_trouble(error)
            if now - health >= HEALTH_S:
                health = now
                self._replace_dead_threads()

    def _beat(self) -> None:
        held = [job for job, _ in self._leases.all()]
        self.beaten = self._queue.monotonic()
        if held:
            until = self._queue.monotonic() + self._pace.lease_s
            jobs.renew(self._queue.file, held, until)

    def _sweep(self) -> None:
        self._give_back()
        if jobs.expire(self._queue.file, self._queue.clock()):
            self._queue.tell_finished()
        self._adapt()
        self._ring_again()
        self._listen()

    def _notice_lost(self) -> None:
        """Tell handlers whose job was cancelled or taken over."""
        held = self._leases.all()
        if held:
            still = jobs.held(self._queue.file, [job for job, _ in held])
            for job, lost in held:
                if job.id not in still:
                    lost.set()

    def _give_back(self) -> None:
        file, now = self._queue.file, self._queue.clock()
        dead = [owner for owner in jobs.owners(file) if is_dead(owner, self._owner)]
        for job in jobs.leased(file, dead, self._queue.monotonic()):
            report = self._report_lost(job, now)
            if jobs.finish(file, job, report, now):
                _log.warning("job %s lost its worker on attempt %d: %s", job.id, job.attempts, report.state)
                self._queue.tell_finished()

    def _report_lost(self, job: Job, now: float) -> Report:
        why = f"its worker died or went silent on attempt {job.attempts} of {job.max_attempts}"
        if job.attempts >= job.max_attempts:
            return Report("lost", "failed", error_kind="lost", error=why)
        later = now + self._pace.backoff(job.attempts, self._random)
        return Report("lost", "queued", later, error_kind="lost", error=why)

    def _hedge(self) -> None:
        """Nobody but a handler of ours makes a copy: an idle process need not look."""
        classes = {job.class_ for job, _ in self._leases.all()}
        for class_ in estimates.HEDGED & classes:
            if copies := hedges.hedge(self._queue.file, class_, self._queue.clock()):
                for _ in range(copies):
                    self._queue.doorbell(POOLS[class_]).post()
                self._listen()

    def _adapt(self) -> None:
        before, self.pressure = self.pressure, self._gauge.read()
        if self.pressure.closed != before.closed:
            _log.warning("starting jobs: %s", self.pressure.closed or "all may start again")
        for lane in self._lanes:
            lane.slots.adapt(self.pressure, wanted=self._due(lane, 1) > 0)

    def _due(self, lane: Lane, at_most: int) -> int:
        return jobs.due(self._queue.file, lane.classes, self._queue.clock(), at_most)

    def _ring_again(self) -> None:
        """Write the messages that are missing: their job became due just now, or they were lost."""
        for lane in self._lanes:
            room = lane.slots.limit - lane.slots.running
            due = min(room, self._due(lane, room)) if room > 0 else 0
            for _ in range(due - lane.doorbell.waiting()):
                lane.doorbell.post()

    def _listen(self) -> None:
        for lane in self._lanes:
            lane.doorbell.bell.expect(lane.doorbell.waiting())

    def _replace_dead_threads(self) -> None:
        for lane in self._lanes:
            if not lane.consumer.stop_flag.is_set():
                lane.consumer.check_worker_health()
