"""How fast jails are: cold and warm in one run, alternating, so that a noisy machine is noisy for both.

A launch is one trivial Python job, from the call to its result: dispatch, run, and everything of the candidate killed.
Cold is an nsjail and an interpreter per job; warm is a fork of a zygote, single-use like the other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.paths import Paths
from appliance.sandbox.client import Jails, JailStatus
from appliance.sandbox.policy import Limits, Policy

COMMAND = ("python3", "-c", "pass")
POLICY = Policy(Limits(wall_s=20, cpu_s=10))
CONCURRENCIES = (1, 4, 16)
COLD_SHARE = 8
"""One cold launch for so many warm ones."""
LATE_S = 0.9
"""A launch that takes this long waited for nsjail's one-second alarm, or worse."""
PAUSE_S = 0.02
"""Between launches that are timed one by one, for the pool to refill."""

SETTLE_S = 0.5
"""Until the last jails have gone and those that wait are ready."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Launch:
    """One timed launch."""

    seconds: float
    ok: bool


def bench(paths: Paths, launches: int, say: Say) -> dict[str, Any]:
    """Run it all; `launches` is how many warm ones in total. Figures are milliseconds, per second and MiB."""
    singles = max(20, launches // 6)
    with Jails(paths) as cold, Jails(paths, warm=True) as warm:
        for jails in (cold, warm):
            jails.run(COMMAND, POLICY)
        say(f"{singles} warm launches one by one, a cold one after every {COLD_SHARE}")
        slow, quick = _alternate(cold, warm, singles)
        rates, crowd = {}, []
        share = (launches - singles) // len(CONCURRENCIES)
        for width in CONCURRENCIES:
            say(f"{share} warm launches, {width} at once")
            done, rate = _crowd(warm, share, width)
            crowd += done
            rates[str(width)] = rate
        idle = _idle_mib(warm)
    everything = [*slow, *quick, *crowd]
    return {
        "cold_ms": spread(slow),
        "warm_ms": spread(quick),
        "ratio_p50": round(spread(slow)["p50"] / spread(quick)["p50"], 1),
        "jails_per_s": {width: round(rate, 1) for width, rate in rates.items()},
        "idle_warm_mib": None if idle is None else round(idle, 2),
        "launches": len(everything),
        "late": sum(launch.seconds >= LATE_S for launch in everything),
        "lost": sum(not launch.ok for launch in everything),
        "slowest_ms": round(1000 * max(launch.seconds for launch in everything), 1),
    }


def spread(launches: Sequence[Launch]) -> dict[str, float]:
    """Median, tail and maximum in milliseconds."""
    times = sorted(1000 * launch.seconds for launch in launches)
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    found = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": times[-1]}
    return {name: round(value, 2) for name, value in found.items()}


def launch(jails: Jails) -> Launch:
    begun = time.perf_counter()
    result = jails.run(COMMAND, POLICY)
    return Launch(time.perf_counter() - begun, result.status is JailStatus.ok)


def _alternate(cold: Jails, warm: Jails, count: int) -> tuple[list[Launch], list[Launch]]:
    slow, quick = [], []
    for number in range(count):
        if number % COLD_SHARE == 0:
            slow.append(launch(cold))
        time.sleep(PAUSE_S)
        quick.append(launch(warm))
    return slow, quick


def _crowd(jails: Jails, count: int, width: int) -> tuple[list[Launch], float]:
    """Launches at a concurrency, and how many ended per second, refilling included."""
    with ThreadPoolExecutor(width) as pool:
        begun = time.perf_counter()
        done = list(pool.map(lambda _: launch(jails), range(count)))
        return done, count / (time.perf_counter() - begun)


def _idle_mib(jails: Jails) -> float | None:
    """Proportional memory of a waiting jail, its share of the zygote included; None where it cannot be read."""
    time.sleep(SETTLE_S)
    try:
        sizes = [sum(map(proportional_mib, cell.leaf.pids())) for cell in jails.waiting() if cell.leaf]
    except OSError:
        return None
    return statistics.median(sizes) if sizes else None


def proportional_mib(pid: int) -> float:
    """Pss of a process: shared pages count by the share."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) / 1024 for row in rows if row.startswith("Pss:"))
