"""What the queue has done lately, by class: for `appliance metrics`, `status` and the screens.

The text is Prometheus' exposition format, version 0.0.4, fit for the textfile reader of a node exporter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from appliance.errors import StoreError
from appliance.queue.estimates import quantile
from appliance.queue.file import QueueFile
from appliance.queue.records import CLASSES, INFRASTRUCTURE_KINDS

WINDOW = 5_000
"""So many attempts are looked back on."""
PHASES = ("wait", "start", "run", "teardown")
QUANTILES = {"0.5": 0.5, "0.95": 0.95, "0.99": 0.99, "1": 1.0}


@dataclass
class ClassFigures:
    """One class; times in seconds over the last attempts, by phase sorted."""

    queued: int = 0
    leased: int = 0
    oldest_s: float = 0.0
    """Age of the job that waits longest."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """Attempts in the window by how they ended."""
    infrastructure: int = 0
    """Those of them that the host is to blame for."""
    hedges: int = 0
    hedge_wins: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})

    @property
    def attempts(self) -> int:
        return sum(self.outcomes.values())

    @property
    def lost(self) -> int:
        """Leases that ran out or whose worker died."""
        return self.outcomes.get("lost", 0)

    @property
    def infrastructure_share(self) -> float:
        return self.infrastructure / self.attempts if self.attempts else 0.0

    def times(self, phase: str) -> dict[str, float]:
        """p50, p95, p99 and max; empty when nothing ran."""
        found = self.seconds[phase]
        return {name: quantile(found, share) for name, share in QUANTILES.items()} if found else {}


def figures(file: QueueFile, now: float) -> dict[str, ClassFigures]:
    """Of every class; raises StoreError."""
    found = {class_: ClassFigures() for class_ in CLASSES}
    with file.read() as connection:
        for row in connection.execute("SELECT class, queued FROM classes WHERE class <> ''"):
            found[row["class"]].queued = row["queued"]
        for class_ in CLASSES:
            row = connection.execute(
                "SELECT submitted FROM jobs WHERE class = ? AND state = 'queued' ORDER BY seq LIMIT 1",
                (class_,),
            ).fetchone()
            found[class_].oldest_s = max(0.0, now - row["submitted"]) if row else 0.0
        for row in connection.execute(
            "SELECT class, count(*) AS n FROM jobs WHERE state = 'leased' GROUP BY class"
        ):
            found[row["class"]].leased = row["n"]
        rows = connection.execute(
            "SELECT class, copy_of, outcome, job_attempts.error_kind AS kind, wait, start, run, teardown"
            " FROM job_attempts JOIN jobs USING (seq) ORDER BY seq DESC LIMIT ?",
            (WINDOW,),
        ).fetchall()
    for row in rows:
        _add(found[row["class"]], row)
    for class_figures in found.values():
        for times in class_figures.seconds.values():
            times.sort()
    return found


def _add(into: ClassFigures, row: Mapping[str, object]) -> None:
    outcome = str(row["outcome"])
    into.outcomes[outcome] = into.outcomes.get(outcome, 0) + 1
    into.infrastructure += outcome == "lost" or row["kind"] in INFRASTRUCTURE_KINDS
    if row["copy_of"] is not None:
        into.hedges += 1
        into.hedge_wins += outcome == "done"
    if outcome == "done":
        for phase in PHASES:
            into.seconds[phase].append(float(str(row[phase])))


def exposition(found: Mapping[str, ClassFigures]) -> str:
    """The metrics as text, ending in a newline."""
    lines: list[str] = []
    for name, kind, help_, rows in _metrics(found):
        lines += [f"# HELP appliance_{name} {help_}", f"# TYPE appliance_{name} {kind}"]
        lines += [f"appliance_{name}{{{labels}}} {value:.9g}" for labels, value in rows]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Replace a file whole, so that no reader sees half of it; it may be read by all. Raises StoreError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.chmod(0o644)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StoreError(
            f"{path}: {error.strerror}", remedy="name a file in a folder that is there"
        ) from error


Rows = Sequence[tuple[str, float]]


def _metrics(found: Mapping[str, ClassFigures]) -> Iterator[tuple[str, str, str, Rows]]:
    def by_class(value: str) -> Rows:
        return [(f'class="{name}"', float(getattr(one, value))) for name, one in found.items()]

    yield "jobs_queued", "gauge", "Jobs that wait.", by_class("queued")
    yield "jobs_leased", "gauge", "Jobs that a worker holds.", by_class("leased")
    yield "jobs_oldest_seconds", "gauge", "Age of the job that waits longest.", by_class("oldest_s")
    outcomes = [
        (f'class="{name}",outcome="{outcome}"', float(count))
        for name, one in found.items()
        for outcome, count in sorted(one.outcomes.items())
    ]
    yield "attempts_recent", "gauge", f"How the last {WINDOW} attempts at jobs ended.", outcomes
    yield "leases_lost_recent", "gauge", "Leases that ran out, or whose worker died.", by_class("lost")
    yield "hedges_recent", "gauge", "Copies of late jobs that ended.", by_class("hedges")
    yield "hedge_wins_recent", "gauge", "Copies that were first.", by_class("hedge_wins")
    yield (
        "infrastructure_share_recent",
        "gauge",
        "Share of attempts that the host failed.",
        by_class("infrastructure_share"),
    )
    for phase in PHASES:
        rows = [
            (f'class="{name}",quantile="{share}"', value)
            for name, one in found.items()
            for share, value in one.times(phase).items()
        ]
        yield f"job_{phase}_seconds", "gauge", f"Seconds of {phase} of jobs that were done.", rows
