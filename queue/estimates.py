"""What jobs took before: by class and label the last durations, for costs, for order and for hedges."""

from __future__ import annotations

import json
import sqlite3
import statistics
from collections.abc import Sequence

from appliance.queue.records import SHORT_S, WEIGHTS, Job, Report

KEPT = 32
ENOUGH = 8
"""Fewer say nothing about a tail."""
HEDGED = frozenset({"judge"})
"""Classes whose jobs give the same result whenever they run, so that a second copy does no harm."""
FIRST_TRY_S = 2.0
"""A first try may take twice the median, and this long at least: what takes longer is tried again without haste, where
it keeps nobody else waiting."""
HEDGE_SHARE, HEDGE_BURST = 0.03, 4.0
"""Hedges per finished job, and how many can be saved up: when everything is slow, copies must not make it slower."""


def learn(connection: sqlite3.Connection, job: Job, report: Report) -> None:
    """Take in how long a job took: correct what its class was charged for it, and remember it under its label."""
    cost_s = report.seconds if report.cost_s is None else report.cost_s
    connection.execute(
        "UPDATE classes SET share = share + ?, tokens = min(?, tokens + ?) WHERE class = ?",
        ((cost_s - job.cost_s) / WEIGHTS[job.class_], HEDGE_BURST, HEDGE_SHARE, job.class_),
    )
    if job.label:
        pairs = [*_read(connection, job.class_, job.label), (round(report.seconds, 4), round(cost_s, 4))][
            -KEPT:
        ]
        connection.execute(
            "INSERT INTO durations VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seconds = excluded.seconds",
            (job.class_, job.label, json.dumps(pairs)),
        )


def cost_s(connection: sqlite3.Connection, class_: str, label: str) -> float:
    """The CPU seconds that a job of this label may take: the median of the last ones."""
    pairs = _read(connection, class_, label) if label else []
    return statistics.median(cost for _, cost in pairs) if pairs else SHORT_S


def least_s(connection: sqlite3.Connection, class_: str, label: str) -> float | None:
    """The shortest of the last jobs of this label, in seconds; None while too few are known."""
    pairs = _read(connection, class_, label) if label else []
    return min(seconds for seconds, _ in pairs) if len(pairs) >= ENOUGH else None


def tail_s(connection: sqlite3.Connection, class_: str, label: str) -> float | None:
    """What 95 of 100 jobs of this label stay below, in seconds; None while too few are known."""
    pairs = _read(connection, class_, label)
    if len(pairs) < ENOUGH:
        return None
    return quantile(sorted(seconds for seconds, _ in pairs), 0.95)


def first_try_s(connection: sqlite3.Connection, class_: str, label: str) -> float | None:
    """How long a first try at a job of this label may take; None while too few are known, or where it costs more."""
    pairs = _read(connection, class_, label) if class_ in HEDGED and label else []
    if len(pairs) < ENOUGH:
        return None
    return max(FIRST_TRY_S, 2 * statistics.median(seconds for seconds, _ in pairs))


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value at a share of the way through, the next one up."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _read(connection: sqlite3.Connection, class_: str, label: str) -> list[tuple[float, float]]:
    row = connection.execute(
        "SELECT seconds FROM durations WHERE class = ? AND label = ?", (class_, label)
    ).fetchone()
    return [(float(seconds), float(cost)) for seconds, cost in json.loads(row["seconds"])] if row else []
