"""How fast and how fair the queue is, beside bare Huey on the same disk in the same run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from appliance.bench.jail import Say
from appliance.queue import claims, jobs
from appliance.queue.client import Queue
from appliance.queue.estimates import quantile
from appliance.queue.incarnation import this_process
from appliance.queue.records import DEPTHS, POOLS, WEIGHTS, Claimant, Job, Report, Request
from appliance.queue.workers import JobContext, Workers

PAYLOAD = {"task": "starter/add", "text": "x" * 260}
"""About 300 bytes."""
DEEP = dict.fromkeys(DEPTHS, 10**9)
LOADS = (1_000, 100_000, 1_000_000)
CLAIMS = 1_000
"""Timed at each depth."""
FAIR_MS = {"judge": 4, "admit": 16, "housekeeping": 8}
"""How long a job of each class takes."""
TAIL_JOBS, TAIL_S, TAIL_SHARE, TAIL_FACTOR = 400, 0.02, 100, 50
"""One job in `TAIL_SHARE` is `TAIL_FACTOR` times slower the first time it runs."""
TAIL_THREADS = 4

OWNER = this_process()

_FILL = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO jobs (class, grp, priority, payload, max_attempts, submitted, label, batch, cost)
SELECT 'judge', 'g', i % 3, ?, 3, ?, 'label' || (i % 100), i / 64, (i * 7919 % 100) / 40.0 FROM n
"""
_ELSEWHERE = """
import sys, time
from pathlib import Path
from appliance.queue.client import Queue
with Queue(Path(sys.argv[1])) as queue:
    for _ in range(int(sys.argv[2])):
        time.sleep(0.05)
        queue.submit("judge", {"at": time.monotonic()})
"""


def bench(count: int, say: Say, folder: Path | None = None) -> dict[str, Any]:
    """Run it all; `count` jobs where jobs are counted per second. Rates are per second, times milliseconds."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="appliance-bench-") as name:
        here = Path(name)
        say(f"{count} submissions, then {count} life cycles, ours and Huey's")
        submits = _submits(here / "submit.db", count)
        cycles = _cycles(here / "cycle.db", count)
        bare = _huey_cycles(here / "huey.db", count)
        say("wake-ups of an idle queue, from another process")
        wakeups = _wakeups(here / "wake.db")
        say("fairness under a mixed load, then a batch with stragglers")
        error = _fairness_error(here / "fair.db")
        tail = _tail_s(here / "slow.db", stragglers=True) / _tail_s(here / "even.db", stragglers=False)
        claim_ms = {}
        for load in LOADS:
            say(f"claims with {load} jobs queued")
            claim_ms[str(load)] = _claim_p99_ms(here / f"{load}.db", load)
    return {
        "submit_per_s": round(submits),
        "cycle_per_s": round(cycles),
        "huey_cycle_per_s": round(bare),
        "claim_p99_ms": claim_ms,
        "wakeup_p50_ms": round(1000 * quantile(wakeups, 0.5), 2),
        "wakeup_p99_ms": round(1000 * quantile(wakeups, 0.99), 2),
        "fairness_error": round(error, 3),
        "tail_ratio": round(tail, 2),
    }


def _rate(count: int, work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        work()
    return count / (time.perf_counter() - begun)


def _submits(path: Path, count: int) -> float:
    with Queue(path, depths=DEEP) as queue:
        return _rate(count, lambda: queue.submit("judge", PAYLOAD))


def _claimed(queue: Queue) -> Job:
    job = claims.claim(queue.file, ["judge"], Claimant(OWNER, queue.clock(), queue.monotonic() + 60))
    assert job is not None
    return job


def _cycles(path: Path, count: int) -> float:
    """Submit, take the ring, claim, heartbeat, complete, read the result: one after the other."""
    report = Report("done", "done", result='{"reward":0.5}')

    def cycle() -> None:
        queue.submit("judge", PAYLOAD)
        assert queue.doorbell(POOLS["judge"]).dequeue() is not None
        job = _claimed(queue)
        jobs.renew(queue.file, [job], queue.monotonic() + 60)
        jobs.finish(queue.file, job, report, queue.clock())
        assert queue.job(job.id).result == {"reward": 0.5}

    with Queue(path, depths=DEEP) as queue:
        return _rate(count, cycle)


def _huey_cycles(path: Path, count: int) -> float:
    """The same with Huey alone, which has no lease to renew."""
    from huey import SqliteHuey

    huey = SqliteHuey(filename=str(path))
    task = huey.task(name="bench")(lambda payload: {"reward": 0.5})

    def cycle() -> None:
        result = task(PAYLOAD)
        huey.execute(huey.dequeue())
        assert result.get() == {"reward": 0.5}

    return _rate(count, cycle)


def _claim_p99_ms(path: Path, load: int) -> float:
    with Queue(path, depths=DEEP) as queue:
        with queue.file.write() as connection:
            connection.execute(_FILL, (load, str(PAYLOAD).replace("'", '"'), queue.clock()))
        times = []
        for _ in range(min(CLAIMS, load)):
            begun = time.perf_counter()
            _claimed(queue)
            times.append(time.perf_counter() - begun)
    return round(1000 * quantile(sorted(times), 0.99), 3)


def _wakeups(path: Path, count: int = 150) -> list[float]:
    """Seconds from the submission by another process to the start of the handler, sorted."""
    waits: list[float] = []

    def handler(context: JobContext) -> None:
        waits.append(time.monotonic() - context.payload["at"])

    with Queue(path) as queue, Workers(queue, {"judge": handler}, {"jails": 2}):
        subprocess.run([sys.executable, "-c", _ELSEWHERE, str(path), str(count)], check=True)
        queue.wait([job.id for job in queue.jobs(limit=count)])
    return sorted(waits)


def _fairness_error(path: Path, seconds: float = 4.0) -> float:
    """How far, relative to its due, a class is from its share of the time while all have jobs waiting."""
    spent: Counter[str] = Counter()

    def handler(context: JobContext) -> None:
        took_ms = FAIR_MS[context.class_]
        time.sleep(took_ms / 1000)
        context.spent(took_ms / 1000)
        spent[context.class_] += took_ms

    with Queue(path, depths=DEEP) as queue:
        for class_, took_ms in FAIR_MS.items():
            most = int(8 * seconds * 1000 / took_ms)
            queue.submit_many(
                [Request(class_, {}, cost_s=took_ms / 1000, priority=n % 2) for n in range(most)]
            )
        with Workers(queue, dict.fromkeys(FAIR_MS, handler), {"jails": 4}):
            time.sleep(seconds)
            found = spent.copy()
            queue.cancel_group("")
    due = {class_: WEIGHTS[class_] / sum(WEIGHTS[name] for name in FAIR_MS) for class_ in FAIR_MS}
    return max(abs(found[class_] / found.total() - share) / share for class_, share in due.items())


def _tail_s(path: Path, *, stragglers: bool) -> float:
    """Seconds until a batch is done; the queue has seen jobs of its label before."""
    straggled: set[int] = set()

    def handler(context: JobContext) -> None:
        number = context.payload["n"]
        slow = stragglers and number % TAIL_SHARE == TAIL_SHARE - 1 and number not in straggled
        straggled.add(number)
        give_up = time.monotonic() + TAIL_S * (TAIL_FACTOR if slow else 1)
        while time.monotonic() < give_up and not context.cancelled:
            time.sleep(TAIL_S / 4)

    with Queue(path) as queue, Workers(queue, {"judge": handler}, {"jails": TAIL_THREADS}):
        _finish(queue, range(-2 * TAIL_SHARE, 0, 2))
        begun = time.perf_counter()
        _finish(queue, range(TAIL_JOBS))
        return time.perf_counter() - begun


def _finish(queue: Queue, numbers: Sequence[int]) -> None:
    found = queue.wait(
        queue.submit_many([Request("judge", {"n": n}, label="t", cost_s=TAIL_S) for n in numbers])
    )
    assert statistics.mode(job.state for job in found) == "done"
