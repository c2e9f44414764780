"""Many sessions open at once, each running a command now and then: none may fail, and memory stays bounded."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from appliance.bench.jail import Say, proportional_mib
from appliance.errors import ApplianceError
from appliance.paths import Paths
from appliance.sandbox.client import Jails, JailStatus
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.session import Session

POLICY = Policy(Limits(memory_mb=64, pids=16, wall_s=30, cpu_s=10, disk_mb=4))
START = {"state.txt": b"0\n"}
COMMAND = ("sh", "-c", "read n < state.txt; echo $((n + 1)) > state.txt; cat state.txt")
WIDTH = 8
"""Commands at the same time; the sessions are all open all the time."""


def bench(paths: Paths, count: int, rounds: int, every_s: float, say: Say) -> dict[str, Any]:
    """Open `count` sessions and run one command in each, `rounds` times, a round every `every_s` seconds at least."""
    with Jails(paths, warm=True) as jails, ThreadPoolExecutor(WIDTH) as pool:
        say(f"opening {count} sessions")
        begun = time.perf_counter()
        sessions = list(pool.map(lambda _: _opened(jails), range(count)))
        opening_s = time.perf_counter() - begun
        times, failed = [], 0
        for number in range(1, rounds + 1):
            say(f"round {number} of {rounds}")
            begun = time.perf_counter()
            for seconds, right in pool.map(lambda session, wanted=number: _step(session, wanted), sessions):
                times.append(1000 * seconds)
                failed += not right
            time.sleep(max(0.0, every_s - (time.perf_counter() - begun)))
        sizes = [_mib(session) for session in sessions]
        list(pool.map(Session.close, sessions))
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {
        "sessions": count,
        "commands": len(times),
        "failed": failed,
        "open_per_s": round(count / opening_s, 1),
        "command_ms": {name: round(cuts[at], 2) for name, at in (("p50", 49), ("p95", 94), ("p99", 98))}
        | {"max": round(max(times), 2)},
        "session_mib": round(statistics.median(sizes), 2),
    }


def _opened(jails: Jails) -> Session:
    """A session that answers."""
    session = jails.session(POLICY, START)
    session.healthy()
    return session


def _step(session: Session, wanted: int) -> tuple[float, bool]:
    """Count up in one session; whether it knew where it was."""
    begun = time.perf_counter()
    try:
        result = session.run(COMMAND)
    except ApplianceError:
        return time.perf_counter() - begun, False
    right = result.status is JailStatus.ok and result.stdout == b"%d\n" % wanted
    return time.perf_counter() - begun, right


def _mib(session: Session) -> float:
    """Proportional memory of a session between commands; what it wrote is in its own file system, not in here."""
    try:
        return sum(map(proportional_mib, session.pids()))
    except OSError:
        return float("nan")
