"""Which job is next, who is refused, which copy counts, and how many run at once."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.daemon.metrics import MetricsFile
from appliance.errors import StoreError, UsageError
from appliance.queue import claims, estimates, figures, hedges, jobs
from appliance.queue.client import Queue
from appliance.queue.file import SCHEMA
from appliance.queue.incarnation import this_process
from appliance.queue.keeper import Pace
from appliance.queue.pressure import Gauge, Pressure, Slots
from appliance.queue.records import DEPTHS, WEIGHTS, Busy, Claimant, Job, Report, Request
from appliance.queue.workers import JobContext, Overrun, Workers

ME = this_process()
JAILS = ("interactive", "judge", "admit", "housekeeping")
QUICK = Pace(poll_s=0.01, glance_s=0.02, sweep_s=0.03, backoff_s=0.01)
LONG_S = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[Queue]:
    with Queue(tmp_path / "queue.db", clock=clock) as opened:
        yield opened


def claim(queue: Queue, *classes: str, short: bool = False) -> Job | None:
    claimant = Claimant(ME, queue.clock(), queue.monotonic() + 60)
    return claims.claim(queue.file, classes or JAILS, claimant, short=short)


def claimed(queue: Queue, *classes: str, short: bool = False) -> Job:
    job = claim(queue, *classes, short=short)
    assert job is not None
    return job


def done(queue: Queue, job: Job, seconds: float = 0.0, **result: Any) -> bool:
    report = Report("done", "done", result=str(result).replace("'", '"'), seconds=seconds)
    return jobs.finish(queue.file, job, report, queue.clock())


def learned(queue: Queue, label: str, seconds: float, times: int = estimates.ENOUGH) -> None:
    """Let so many jobs of a label have taken so long."""
    for _ in range(times):
        queue.submit("judge", {}, label=label)
        done(queue, claimed(queue, "judge"), seconds)


# fair share


def test_classes_share_a_pool_by_weight_of_what_their_jobs_cost(queue: Queue) -> None:
    costs = {"judge": 0.5, "admit": 2.0, "housekeeping": 1.0}
    for class_, cost_s in costs.items():
        queue.submit_many([Request(class_, {}, cost_s=cost_s) for _ in range(400)])
    started = Counter(claimed(queue).class_ for _ in range(300))
    spent = {class_: started[class_] * costs[class_] / WEIGHTS[class_] for class_ in costs}
    assert max(spent.values()) - min(spent.values()) <= max(costs[c] / WEIGHTS[c] for c in costs)


def test_a_class_that_was_idle_starts_level_and_has_saved_nothing_up(queue: Queue) -> None:
    queue.submit_many([Request("judge", {}) for _ in range(200)])
    for _ in range(100):
        assert claimed(queue).class_ == "judge"
    queue.submit_many([Request("admit", {}) for _ in range(50)])
    first = Counter(claimed(queue).class_ for _ in range(10))
    assert first["admit"] <= 3, "four to one"
    assert first["judge"] >= 7


def test_what_a_job_did_cost_is_charged_in_the_end(queue: Queue) -> None:
    queue.submit_many([Request("judge", {}, cost_s=0.1) for _ in range(100)])
    queue.submit_many([Request("admit", {}, cost_s=0.1) for _ in range(100)])
    started: Counter[str] = Counter()
    for _ in range(60):
        job = claimed(queue)
        started[job.class_] += 1
        done(queue, job, seconds=8.0 if job.class_ == "judge" else 0.1)
    assert started["admit"] > started["judge"], "judge said 0.1 s and took 8"


def test_every_class_that_waits_is_served(queue: Queue) -> None:
    for class_ in JAILS:
        queue.submit_many([Request(class_, {}) for _ in range(100)])
    assert set(Counter(claimed(queue).class_ for _ in range(40))) == set(JAILS)


# order within a class


def test_of_one_submission_the_longest_starts_first_and_earlier_submissions_before_it(queue: Queue) -> None:
    queue.submit("judge", {"n": "early"}, cost_s=0.1)
    queue.submit_many([Request("judge", {"n": n}, cost_s=cost) for n, cost in enumerate((1, 9, 3, 9))])
    queue.submit("judge", {"n": "late"}, cost_s=99)
    order = [claimed(queue, "judge").payload["n"] for _ in range(6)]
    assert order == ["early", 1, 3, 2, 0, "late"]


def test_a_cost_is_taken_from_what_the_label_took_before(queue: Queue) -> None:
    learned(queue, "slow task", 7.0)
    learned(queue, "quick task", 0.2)
    queue.submit_many(
        [Request("judge", {"n": name}, label=name) for name in ("new", "quick task", "slow task")]
    )
    found = [claimed(queue, "judge") for _ in range(3)]
    assert [(job.payload["n"], job.cost_s) for job in found] == [
        ("slow task", 7),
        ("new", 1),
        ("quick task", 0.2),
    ]


def test_the_oldest_job_starts_within_the_stated_bound_whatever_comes_after_it(
    queue: Queue, clock: Clock
) -> None:
    queue.submit("judge", {"n": "old"}, priority=-5)
    clock.now += claims.AGE_S
    order = []
    for _ in range(claims.AGED_SHARE):
        queue.submit("judge", {"n": "new"}, priority=9)
        order.append(claimed(queue, "judge").payload["n"])
    assert "old" in order, "it starves"


def test_a_young_job_of_low_priority_waits(queue: Queue, clock: Clock) -> None:
    queue.submit("judge", {"n": "low"}, priority=-5)
    clock.now += claims.AGE_S - 1
    queue.submit_many([Request("judge", {"n": "high"}) for _ in range(2 * claims.AGED_SHARE)])
    assert [claimed(queue, "judge").payload["n"] for _ in range(2 * claims.AGED_SHARE)].count("low") == 0


def test_a_short_slot_takes_short_jobs_only(queue: Queue) -> None:
    queue.submit("judge", {"n": "long"}, cost_s=30, priority=9)
    assert claim(queue, short=True) is None
    queue.submit("judge", {"n": "short"}, cost_s=0.5)
    assert claimed(queue, short=True).payload["n"] == "short"
    assert claimed(queue).payload["n"] == "long"


# back-pressure


def test_more_than_a_class_may_hold_is_refused_whole_with_how_long_to_wait(
    tmp_path: Path, clock: Clock
) -> None:
    with Queue(tmp_path / "queue.db", clock=clock, depths=DEPTHS | {"judge": 10}) as queue:
        queue.submit_many([Request("judge", {}) for _ in range(10)])
        for _ in range(5):
            done(queue, claimed(queue, "judge"))
        clock.now += 1
        queue.submit_many([Request("judge", {}) for _ in range(5)])
        with pytest.raises(Busy, match="10 jobs of class judge wait already") as caught:
            queue.submit_many([Request("judge", {}), Request("admit", {})])
        assert caught.value.retry_after_s == pytest.approx(60 / 5)
        assert "submit again in 12 s" in caught.value.remedy
        assert queue.depth() == {"judge": 10}, "all or none"
        queue.submit("admit", {})


def test_the_count_of_what_waits_is_right_whatever_happens(queue: Queue, clock: Clock) -> None:
    queue.submit_many(
        [Request("judge", {"n": n}, deadline_s=5 if n == 9 else None, group="g") for n in range(10)]
    )
    first = claimed(queue, "judge")
    done(queue, first)
    jobs.finish(queue.file, claimed(queue, "judge"), Report("retried", "queued"), clock.now)
    clock.now += 10
    jobs.expire(queue.file, clock.now)
    with queue.file.read() as connection:
        assert jobs.queued(connection, "judge") == 8
    queue.cancel_group("g")
    with queue.file.read() as connection:
        assert jobs.queued(connection, "judge") == 0


@pytest.mark.parametrize("cost_s", [-1.0, float("nan"), float("inf")])
def test_a_cost_that_is_none_is_refused(queue: Queue, cost_s: float) -> None:
    with pytest.raises(UsageError, match="cost_s"):
        queue.submit("judge", {}, cost_s=cost_s)


# hedges


def late_job(queue: Queue, clock: Clock) -> Job:
    """A job that has run for longer than its like."""
    learned(queue, "t", 0.5, times=40)
    queue.submit("judge", {"x": 1}, key="k", label="t")
    job = claimed(queue, "judge")
    clock.now += 0.6
    return job


def test_a_late_job_gets_one_copy_and_the_first_that_is_done_decides(queue: Queue, clock: Clock) -> None:
    job = late_job(queue, clock)
    assert hedges.hedge(queue.file, "judge", clock.now) == 1
    assert hedges.hedge(queue.file, "judge", clock.now) == 0, "one copy"
    copy = claimed(queue, "judge")
    assert (copy.payload, copy.copy_of) == (job.payload, job.id)
    assert done(queue, copy, 0.5, winner="copy")
    assert not done(queue, job, 9.0, winner="original"), "its report is refused"
    found = queue.job(job.id)
    assert (found.state, found.result) == ("done", {"winner": "copy"})
    assert [row["outcome"] for row in queue.history(job.id)] == ["cancelled"]


def test_a_copy_that_comes_second_is_cancelled(queue: Queue, clock: Clock) -> None:
    job = late_job(queue, clock)
    hedges.hedge(queue.file, "judge", clock.now)
    copy = claimed(queue, "judge")
    assert done(queue, job, 0.6, winner="original")
    assert not done(queue, copy, 0.1, winner="copy")
    assert queue.job(copy.id).state == "cancelled"
    assert queue.job(job.id).result == {"winner": "original"}
    assert queue.depth() == {}


def test_a_copy_that_fails_changes_nothing(queue: Queue, clock: Clock) -> None:
    job = late_job(queue, clock)
    hedges.hedge(queue.file, "judge", clock.now)
    failed = Report("failed", "failed", error_kind="sandbox", error="no jail")
    jobs.finish(queue.file, claimed(queue, "judge"), failed, clock.now)
    assert queue.job(job.id).state == "leased"
    assert done(queue, job, 0.6)


def test_cancelling_a_job_ends_its_copies(queue: Queue, clock: Clock) -> None:
    job = late_job(queue, clock)
    hedges.hedge(queue.file, "judge", clock.now)
    assert queue.cancel(job.id)
    assert queue.depth() == {}


def test_nothing_is_copied_that_is_slow_by_nature_unknown_or_out_of_tokens(
    queue: Queue, clock: Clock
) -> None:
    learned(queue, "slow", 30.0, times=40)
    queue.submit("judge", {}, label="slow")
    queue.submit("judge", {}, label="unknown")
    queue.submit("judge", {})
    for _ in range(3):
        claimed(queue, "judge")
    clock.now += 25
    assert hedges.hedge(queue.file, "judge", clock.now) == 0
    learned(queue, "quick", 0.5, times=40)
    queue.submit_many([Request("judge", {}, label="quick") for _ in range(20)])
    for _ in range(20):
        claimed(queue, "judge")
    clock.now += 3
    copies = sum(hedges.hedge(queue.file, "judge", clock.now) for _ in range(5))
    assert 1 <= copies <= estimates.HEDGE_BURST, "what 80 finished jobs have earned"


# with real workers


def test_a_straggler_is_overtaken_by_its_copy_and_told(tmp_path: Path) -> None:
    told = threading.Event()

    def judge(context: JobContext) -> dict[str, Any]:
        if context.payload["n"] == "straggler" and not straggled.is_set():
            straggled.set()
            deadline = time.monotonic() + LONG_S
            while not context.cancelled and time.monotonic() < deadline:
                time.sleep(0.005)
            told.set()
            return {"by": "straggler"}
        return {"by": "another"}

    straggled = threading.Event()
    with Queue(tmp_path / "queue.db") as queue, Workers(queue, {"judge": judge}, {"jails": 3}, pace=QUICK):
        queue.wait(queue.submit_many([Request("judge", {"n": n}, label="t") for n in range(40)]), LONG_S)
        (job,) = queue.wait([queue.submit("judge", {"n": "straggler"}, label="t")], LONG_S)
        assert (job.state, job.result) == ("done", {"by": "another"})
        assert told.wait(LONG_S)


def test_what_goes_over_a_first_try_has_its_time_later_and_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "FIRST_TRY_S", 0.05)
    monkeypatch.setattr(estimates, "HEDGE_BURST", 0.0)
    limits: list[float | None] = []

    def judge(context: JobContext) -> dict[str, Any]:
        if context.payload["n"] == "slow":
            limits.append(context.limit_s)
            if context.limit_s is not None:
                time.sleep(context.limit_s)
                raise Overrun
        return {}

    with Queue(tmp_path / "queue.db") as queue, Workers(queue, {"judge": judge}, {"jails": 2}, pace=QUICK):
        queue.wait(queue.submit_many([Request("judge", {"n": n}, label="t") for n in range(20)]), LONG_S)
        (job,) = queue.wait([queue.submit("judge", {"n": "slow"}, label="t", max_attempts=1)], LONG_S)
        assert (job.state, job.attempts, job.long) == ("done", 1, True)
        assert job.cost_s >= jobs.LONG_FACTOR * 0.05
        assert [row["outcome"] for row in queue.history(job.id)] == ["deferred", "done"]
    assert limits == [pytest.approx(0.05, abs=0.05), None]


def test_the_first_k_of_n_are_kept_and_the_others_cancelled(tmp_path: Path) -> None:
    def judge(context: JobContext) -> dict[str, Any]:
        while context.payload["n"] >= 3 and not context.cancelled:
            time.sleep(0.005)
        return {}

    with Queue(tmp_path / "queue.db") as queue, Workers(queue, {"attempt": judge}, {"model": 8}, pace=QUICK):
        ids = queue.submit_many([Request("attempt", {"n": n}) for n in range(6)])
        kept, dropped = queue.first(ids, 3, LONG_S)
        assert [job.payload["n"] for job in kept] == [0, 1, 2]
        assert [(job.payload["n"], job.state) for job in dropped] == [(n, "cancelled") for n in (3, 4, 5)]


def test_long_jobs_leave_a_slot_for_short_ones(tmp_path: Path) -> None:
    release = threading.Event()

    def judge(context: JobContext) -> dict[str, Any]:
        if context.payload["long"]:
            release.wait(LONG_S)
        return {}

    with Queue(tmp_path / "queue.db") as queue, Workers(queue, {"judge": judge}, {"jails": 2}, pace=QUICK):
        long = queue.submit_many([Request("judge", {"long": True}, cost_s=60) for _ in range(6)])
        try:
            (short,) = queue.wait([queue.submit("judge", {"long": False}, cost_s=0.1, priority=-1)], LONG_S)
            assert short.state == "done"
        finally:
            release.set()
        assert {job.state for job in queue.wait(long, LONG_S)} == {"done"}


class Fixed(Gauge):
    """A machine that is as hard-pressed as the test says; the gates and slots are the real ones."""

    def __init__(self, pressure: Pressure) -> None:
        self.pressure = pressure

    def read(self) -> Pressure:
        return self.pressure


def test_without_memory_only_interactive_jobs_start_until_there_is_some(tmp_path: Path) -> None:
    gauge = Fixed(Pressure(memory_share=0.01))
    handlers = {"judge": lambda context: {}, "interactive": lambda context: {}}
    with Queue(tmp_path / "queue.db") as queue:
        workers = Workers(queue, handlers, {"jails": 2}, pace=QUICK, gauge=gauge)
        with workers:
            waiting = queue.submit("judge", {})
            (quick,) = queue.wait([queue.submit("interactive", {})], LONG_S)
            assert quick.state == "done"
            assert (queue.job(waiting).state, workers.closed) == ("queued", "memory: 1 % left")
            gauge.pressure = Pressure()
            assert queue.wait([waiting], LONG_S)[0].state == "done"


# slots and gauges


def test_slots_grow_while_cores_idle_and_shrink_under_pressure() -> None:
    rooms: list[int] = []
    slots = Slots(8, 2, on_room=lambda: rooms.append(1))
    assert [slots.take() for _ in range(3)] == ["any", "any", ""]
    slots.adapt(Pressure(cpu_idle=0.5), wanted=True)
    assert (slots.limit, rooms) == (3, [1]), "whoever was refused is called"
    assert slots.take() == "any"
    slots.adapt(Pressure(cpu_idle=0.1), wanted=True)
    slots.adapt(Pressure(cpu_idle=0.9), wanted=False)
    assert slots.limit == 3
    slots.adapt(Pressure(cpu_waiting=90), wanted=True)
    assert slots.limit == 2
    for _ in range(9):
        slots.adapt(Pressure(memory_share=0.01), wanted=True)
    assert slots.limit == 1


def test_what_found_no_short_job_is_called_when_a_slot_for_any_is_free() -> None:
    rooms: list[int] = []
    slots = Slots(2, 2, reserved=1, on_room=lambda: rooms.append(1))
    assert [slots.take(), slots.take()] == ["any", "short"]
    slots.release(used=False, picky=True)
    assert rooms == []
    slots.release(used=True)
    assert rooms == [1]
    assert slots.take() == "any"
    slots.release(used=False)
    assert rooms == [1], "an empty queue is not rung for over and over"


def test_a_gauge_reads_this_machine_and_a_machine_without_psi(tmp_path: Path) -> None:
    here = Gauge(tmp_path)
    here.read()
    found = here.read()
    assert 0 < found.memory_share <= 1
    assert 0 <= found.cpu_idle <= 1
    assert 0 < found.disk_bytes < 2**62
    without = Gauge(tmp_path, proc=tmp_path).read()
    assert (without.memory_share, without.memory_stalled, without.cpu_waiting, without.cpu_idle) == (
        1,
        0,
        0,
        1,
    )


def test_pressure_files_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()
    line = "avg10={} avg60=0.00 avg300=0.00 total=1"
    (tmp_path / "pressure/memory").write_text(f"some {line.format(90.5)}\nfull {line.format(33.25)}\n")
    (tmp_path / "pressure/cpu").write_text(f"some {line.format(71.0)}\nfull {line.format(0)}\n")
    (tmp_path / "meminfo").write_text("MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable:   250 kB\n")
    found = Gauge(tmp_path, proc=tmp_path).read()
    assert (found.memory_stalled, found.cpu_waiting, found.memory_share) == (33.25, 71.0, 0.25)
    assert found.closed == "memory: all processes waited for it 33 % of the time"


@pytest.mark.parametrize(("mib", "share", "closed"), [(10, 0.5, False), (300, 0.01, False), (10, 0.01, True)])
def test_a_disk_is_full_by_size_and_by_share(mib: int, share: float, closed: bool) -> None:
    assert bool(Pressure(disk_bytes=mib * 2**20, disk_share=share).closed) == closed


# the file


def test_a_file_of_version_1_is_carried_over_with_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    with sqlite3.connect(path) as connection:
        for statement in SCHEMA[1]:
            connection.execute(statement)
        for number in range(3):
            connection.execute(
                "INSERT INTO jobs (class, grp, priority, payload, max_attempts, submitted)"
                " VALUES ('judge', 'g', 0, ?, 3, 5)",
                (f'{{"n":{number}}}',),
            )
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with Queue(path) as queue:
        with queue.file.read() as reading:
            assert jobs.queued(reading, "judge") == 3
        assert [claimed(queue, "judge").payload["n"] for _ in range(3)] == [0, 1, 2]


# figures


def test_the_figures_count_what_happened_by_class(queue: Queue, clock: Clock) -> None:
    queue.submit_many([Request("judge", {}) for _ in range(4)])
    clock.now += 2
    job = claimed(queue, "judge")
    report = Report("done", "done", result="{}", seconds=1.5, start_s=0.25, teardown_s=0.5)
    jobs.finish(queue.file, job, report, clock.now)
    lost = claimed(queue, "judge")
    jobs.finish(queue.file, lost, Report("lost", "queued", error_kind="lost"), clock.now)
    failed = Report("failed", "failed", error_kind="internal", error="a bug")
    jobs.finish(queue.file, claimed(queue, "judge"), failed, clock.now)
    claimed(queue, "judge")
    clock.now += 5
    found = queue.figures()["judge"]
    assert (found.queued, found.leased, found.oldest_s) == (1, 1, 7)
    assert found.outcomes == {"done": 1, "lost": 1, "failed": 1}
    assert (found.lost, found.infrastructure_share) == (1, pytest.approx(1 / 3))
    assert {phase: found.times(phase)["1"] for phase in ("wait", "start", "run", "teardown")} == {
        "wait": 2.0,
        "start": 0.25,
        "run": 1.5,
        "teardown": 0.5,
    }
    assert queue.figures()["admit"].times("wait") == {}


def test_hedges_that_win_are_counted(queue: Queue, clock: Clock) -> None:
    late_job(queue, clock)
    hedges.hedge(queue.file, "judge", clock.now)
    done(queue, claimed(queue, "judge"), 0.5)
    found = queue.figures()["judge"]
    assert (found.hedges, found.hedge_wins) == (1, 1)


def test_the_exposition_is_well_formed_and_written_whole(queue: Queue, tmp_path: Path) -> None:
    learned(queue, "t", 0.5)
    text = figures.exposition(queue.figures())
    for line in text.splitlines():
        assert re.fullmatch(
            r'# (HELP|TYPE) appliance_\w+ .+|appliance_\w+\{\w+="[^"]+"(,\w+="[^"]+")*\} [-+.e0-9]+', line
        ), line
    assert 'appliance_job_run_seconds{class="judge",quantile="0.99"} 0.5' in text.splitlines()
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    figures.write(tmp_path / "appliance.prom", text)
    assert (tmp_path / "appliance.prom").read_text() == text
    assert [path.name for path in tmp_path.glob("*.prom*")] == ["appliance.prom"]
    with pytest.raises(StoreError, match="nowhere"):
        figures.write(tmp_path / "nowhere/appliance.prom", text)


def test_the_daemon_keeps_the_figures_in_a_file_as_long_as_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "appliance.prom"
    with Queue(tmp_path / "queue.db") as queue, MetricsFile(queue, path, every_s=0.02):
        queue.submit("judge", {})
        give_up = time.monotonic() + LONG_S
        while not path.exists() or 'jobs_queued{class="judge"} 1' not in path.read_text():
            assert time.monotonic() < give_up
            time.sleep(0.01)


# deadlines


def test_a_job_that_cannot_be_done_in_time_is_not_begun(queue: Queue, clock: Clock) -> None:
    for _ in range(estimates.ENOUGH):
        queue.submit("judge", {}, label="slow")
        jobs.finish(queue.file, claimed(queue), Report("done", "done", seconds=30.0), clock.now)
    hopeless, later = (queue.submit("judge", {}, label="slow", deadline_s=seconds) for seconds in (29, 31))
    unknown = queue.submit("judge", {}, label="other", deadline_s=1)
    assert {claimed(queue).id, claimed(queue).id} == {later, unknown}
    assert claim(queue) is None
    found = queue.job(hopeless)
    assert (found.state, found.error_kind, found.attempts) == ("expired", "deadline", 0)
    assert found.error == "29 s before its deadline; the shortest like it took 30 s"
    assert jobs.due(queue.file, ["judge"], clock.now, 9) == 0
