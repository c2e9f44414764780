"""Workers: Huey consumers in threads of this process that claim jobs, call handlers and report.

At least once, counted once: a job whose worker dies is done again, and only the report of the newest claim is
taken, so a handler must be able to run twice. Failures of the host (a jail or the engine, by error type) are tried
again with a back-off; every other error ends the job. Nothing here can stop a handler that is running: limits
belong to the jail; a handler may ask its context whether its job is still wanted.

Threads die with their process, so a killed worker leaves no ghost that takes jobs; a process that was only stopped
finds its lease gone and its report refused. What a handler started elsewhere (jails, the engine) is theirs to end.
No signal handler is installed.
"""

from __future__ import annotations

import logging
import os
import random as random_module
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from appliance.clean import clean_text
from appliance.errors import ApplianceError, EngineError, SandboxError, StoreError, UsageError
from appliance.queue import claims, estimates, jobs
from appliance.queue.app import Doorbell
from appliance.queue.client import Queue
from appliance.queue.incarnation import this_process
from appliance.queue.keeper import PACE, Keeper, Lane, Leases, Pace
from appliance.queue.pressure import Gauge, Slots
from appliance.queue.records import POOLS, Claimant, Job, Report, to_json

INFRASTRUCTURE = (SandboxError, EngineError)
DRAIN_S = 60.0
RETRY_S = 1.0
"""Between tries to record a result that the disk does not take."""
RESERVED = 1
"""Slots of a pool that only short jobs may use, where it has more than one."""
ERROR_CHARS, TRACE_CHARS = 2_000, 8_000
_log = logging.getLogger("appliance.queue")


class Overrun(Exception):
    """A handler ended a job at `JobContext.limit_s`: it goes back to the queue, to have its time later."""


class Loss:
    """Whether a job is still wanted, and what to do at once when it is not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._then: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        with self._lock:
            self._is_set, then, self._then = True, self._then, []
        for call in then:
            call()

    def call(self, then: Callable[[], None]) -> None:
        """Call it when the job is lost, from another thread; now if it is."""
        with self._lock:
            if not self._is_set:
                self._then.append(then)
                return
        then()


@dataclass(slots=True)
class Spent:
    """What a handler tells about its work, in seconds."""

    cpu_s: float | None = None
    start_s: float = 0.0
    teardown_s: float = 0.0


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a handler gets to know about the job it is called for, and what it may tell."""

    job_id: str
    class_: str
    payload: Mapping[str, Any]
    attempt: int
    """From 1."""
    deadline: float | None
    """Unix seconds; the job was claimed before it."""
    limit_s: float | None = None
    """After so many seconds the handler may end its work and raise Overrun; None: it has its time."""
    _lost: Loss = field(default_factory=Loss, repr=False)
    _spent: Spent = field(default_factory=Spent, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled, overtaken by a copy or taken over: what the handler returns is refused."""
        return self._lost.is_set()

    def on_cancel(self, then: Callable[[], None]) -> None:
        """Call `then`, from another thread, as soon as the job is not wanted any more. It must not raise or block."""
        self._lost.call(then)

    def spent(self, cpu_s: float) -> None:
        """Tell what the job cost in CPU seconds, where that is not the time it took; adds up."""
        self._spent.cpu_s = (self._spent.cpu_s or 0.0) + cpu_s

    def took(self, *, start_s: float = 0.0, teardown_s: float = 0.0) -> None:
        """Tell how much of its time went into starting and ending a jail; adds up."""
        self._spent.start_s += start_s
        self._spent.teardown_s += teardown_s


Handler = Callable[[JobContext], Mapping[str, Any] | None]


class Workers:
    """Threads for some classes of a queue, from `start` to `stop`. Context manager."""

    def __init__(
        self,
        queue: Queue,
        handlers: Mapping[str, Handler],
        threads: Mapping[str, int],
        *,
        pace: Pace = PACE,
        random: Callable[[], float] = random_module.random,
        gauge: Gauge | None = None,
    ) -> None:
        """`handlers` by class; `threads` by pool: how many jobs may run at once when the machine has room."""
        pools = {POOLS[name] for name in handlers}
        if wrong := sorted(pools ^ threads.keys()) or [name for name, count in threads.items() if count < 1]:
            raise UsageError(f"pool {wrong[0]!r} needs a handler and a thread", remedy="give it both")
        self._queue, self._handlers, self._threads = queue, dict(handlers), dict(threads)
        self._pace, self._random = pace, random
        self._gauge = gauge or Gauge(queue.file.path.parent)
        self._owner = this_process()
        self._leases = Leases()
        self._stopping = threading.Event()
        self._lanes: Sequence[Lane] = ()
        self._keeper: Keeper | None = None

    def __enter__(self) -> Workers:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Check the queue file, take back what dead processes held, and begin. Raises StoreError."""
        self._queue.file.check()
        self._lanes = [self._lane(name, count) for name, count in self._threads.items()]
        keeper = Keeper(
            self._queue, self._leases, self._lanes, self._gauge, self._owner, self._pace, self._random
        )
        keeper.start()
        self._keeper = keeper
        for lane in self._lanes:
            lane.consumer.start()

    @property
    def beaten(self) -> float:
        """When the keeper last renewed the leases, by the queue's monotonic clock; 0 while it does not run."""
        return self._keeper.beaten if self._keeper else 0.0

    @property
    def slots(self) -> dict[str, tuple[int, int]]:
        """Of each pool: jobs that run, and how many may at the moment."""
        return {POOLS[lane.classes[0]]: (lane.slots.running, lane.slots.limit) for lane in self._lanes}

    @property
    def closed(self) -> str:
        """Why only interactive jobs start at the moment; empty when all do."""
        return self._keeper.pressure.closed if self._keeper else ""

    def stop(self, drain: bool = True, timeout_s: float = DRAIN_S) -> None:
        """Start nothing new; with `drain` let running handlers end first, for at most `timeout_s`.

        Jobs still running after that go back to the queue at once, and what their handlers report is refused.
        """
        if self._keeper is None:
            return
        self._stopping.set()
        for lane in self._lanes:
            lane.doorbell.bell.silence(True)
            lane.consumer.stop()
        if drain:
            self._join(self._queue.monotonic() + timeout_s)
        self._keeper.stop()
        self._keeper = None
        for job, lost in self._leases.all():
            self._try_to_record(job, Report("released", "queued"))
            lost.set()

    def _lane(self, pool: str, threads: int) -> Lane:
        """Elastic where jobs use the cores; where they wait for the model there is nothing to save."""
        classes = [name for name in self._handlers if POOLS[name] == pool]
        doorbell = self._queue.doorbell(pool)
        elastic = pool == "jails"
        begin = min(threads, os.cpu_count() or 1) if elastic else threads
        slots = Slots(
            threads, begin, reserved=RESERVED if elastic else 0, on_room=lambda: self._ring(doorbell)
        )
        lane = Lane(doorbell.consumer(threads, lambda: self._answer(lane)), classes, slots)
        return lane

    def _ring(self, doorbell: Doorbell) -> None:
        try:
            doorbell.post()
        except StoreError as error:
            # The next sweep rings again.
            self._queue.note_trouble(error)
            return
        doorbell.bell.ring()

    def _join(self, give_up: float) -> None:
        for lane in self._lanes:
            for thread in lane.consumer.threads:
                thread.join(max(0.0, give_up - self._queue.monotonic()))

    # in the threads

    def _answer(self, lane: Lane) -> None:
        """What a ring makes a thread do: one job, from claim to report, when there is a slot for it."""
        kind = lane.slots.take()
        if not kind:
            return
        job = None
        try:
            job = self._claim(lane, short=kind == "short")
            if job:
                self._work(job)
        finally:
            lane.slots.release(used=job is not None, picky=kind == "short")

    def _work(self, job: Job) -> None:
        report = _failed("internal", "the handler ended its thread")
        context = JobContext(
            job.id, job.class_, job.payload, job.attempts, job.deadline, self._first_try_s(job)
        )
        self._leases.add(job, context._lost)
        begun = self._queue.monotonic()
        try:
            report = self._carry_out(job, context)
        finally:
            told = context._spent
            report = replace(report, seconds=self._queue.monotonic() - begun, cost_s=told.cpu_s)
            self._record(job, replace(report, start_s=told.start_s, teardown_s=told.teardown_s))
            self._leases.drop(job)

    def _first_try_s(self, job: Job) -> float | None:
        if job.long:
            return None
        try:
            with self._queue.file.read() as connection:
                return estimates.first_try_s(connection, job.class_, job.label)
        except StoreError as error:
            self._queue.note_trouble(error)
            return None

    def _claim(self, lane: Lane, *, short: bool) -> Job | None:
        classes = [name for name in lane.classes if not self.closed or name == "interactive"]
        if self._stopping.is_set() or not classes:
            return None
        queue = self._queue
        claimant = Claimant(self._owner, queue.clock(), queue.monotonic() + self._pace.lease_s)
        try:
            return claims.claim(queue.file, classes, claimant, short=short)
        except StoreError as error:
            queue.note_trouble(error)
            return None

    def _carry_out(self, job: Job, context: JobContext) -> Report:
        try:
            result = self._handlers[job.class_](context)
            return Report("done", "done", result=to_json(result or {}))
        except Overrun:
            return Report("deferred", "queued")
        except INFRASTRUCTURE as error:
            return self._report_infrastructure(job, error)
        except ApplianceError as error:
            return _failed(error.kind, str(error))
        except Exception as error:  # noqa: BLE001
            # The supervisor's loop: a fault in one handler ends one job, with its traceback, not the thread.
            return _failed("internal", f"{type(error).__name__}: {error}", traceback.format_exc())

    def _report_infrastructure(self, job: Job, error: ApplianceError) -> Report:
        if job.attempts >= job.max_attempts:
            return _failed(error.kind, str(error))
        later = self._queue.clock() + self._pace.backoff(job.attempts, self._random)
        text = clean_text(str(error), ERROR_CHARS)
        return Report("retried", "queued", later, error_kind=error.kind, error=text)

    def _record(self, job: Job, report: Report) -> None:
        """Report until the queue file takes it: a disk that is full for a minute costs no result."""
        while not self._try_to_record(job, report):
            if self._stopping.wait(RETRY_S) or self._queue.file.closed:
                return

    def _try_to_record(self, job: Job, report: Report) -> bool:
        try:
            accepted = jobs.finish(self._queue.file, job, report, self._queue.clock())
        except StoreError as error:
            self._queue.note_trouble(error)
            return False
        if not accepted:
            _log.info("report of job %s (attempt %d) refused: its lease was gone", job.id, job.attempts)
        self._queue.clear_trouble()
        self._queue.tell_finished()
        return True


def _failed(kind: str, text: str, trace: str = "") -> Report:
    """Handlers may quote what a candidate wrote: it is cleaned and cut here, before it rests anywhere."""
    return Report(
        "failed",
        "failed",
        error_kind=kind,
        error=clean_text(text, ERROR_CHARS),
        trace=clean_text(trace[-TRACE_CHARS:]),
    )
