"""The series of a run: what each update came to, small enough to be read whole before each update."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

MEMORY = 0.9
"""What older groups of a task count when a new one of it is judged, as in the sampler."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What one group of an update came to."""

    task: str
    family: str
    tier: str
    share: str
    """By which part of the draw it was chosen; `uniform` where every task comes once."""
    passes: int
    attempts: int
    """Those with a reward."""
    masked: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One update. Rates are over its attempts that have a reward, masked ones over all."""

    step: int
    reward: float | None
    visible: float | None
    """Share of the visible cases passed, where hidden ones were asked too."""
    hidden: float | None
    attempts: int
    tamper: int
    infra: int
    resource: int
    """Attempts that ran out of time or memory, their own fault."""
    dead: float
    """Share of the groups whose attempts all got the same reward."""
    length: float
    """Mean sampled tokens."""
    entropy: float | None
    judge_s: float
    """p95 of the time that judging took, in seconds."""
    tried: tuple[Tried, ...]

    @property
    def gap(self) -> float | None:
        return None if self.visible is None or self.hidden is None else self.visible - self.hidden

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Step:
        return cls(**{**data, "tried": tuple(Tried(**one) for one in data["tried"])})


def step_of(
    step: int,
    rows: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, tuple[str, str]],
    shares: Mapping[str, str],
    metrics: Mapping[str, Any],
) -> Step:
    """The record of an update: `rows` are its train attempts, `tasks` the family and tier of each task by key."""
    rated = [row for row in rows if row["reward"] is not None]
    both = [row for row in rated if row["hidden"] is not None]
    statuses = Counter(row["status"] for row in rows)
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["group_id"]].append(row)
    times = sorted(row["judge_s"] or 0.0 for row in rows)
    return Step(
        step=step,
        reward=_mean(row["reward"] for row in rated),
        visible=_mean(row["visible"] or 0.0 for row in both),
        hidden=_mean(row["hidden"] for row in both),
        attempts=len(rows),
        tamper=statuses["tamper"],
        infra=statuses["infra"],
        resource=statuses["candidate_timeout"] + statuses["candidate_resource"],
        dead=sum(len({row["reward"] for row in group} - {None}) < 2 for group in groups.values())
        / max(1, len(groups)),
        length=_mean(row["sampled_tokens"] for row in rows) or 0.0,
        entropy=metrics.get("entropy"),
        judge_s=times[min(len(times) - 1, int(0.95 * len(times)))] if times else 0.0,
        tried=tuple(_tried(name, group, tasks, shares) for name, group in groups.items()),
    )


def _tried(
    name: str,
    group: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, tuple[str, str]],
    shares: Mapping[str, str],
) -> Tried:
    key = group[0]["task_key"]
    family, tier = tasks.get(key, ("", ""))
    known = [row for row in group if row["reward"] is not None]
    passes = sum(row["status"] == "pass" for row in known)
    return Tried(
        key, family, tier, shares.get(key, "uniform"), passes, len(known), len(group) - len(known), name
    )


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return statistics.fmean(found) if found else None


def posteriors(steps: Sequence[Step]) -> dict[str, tuple[float, float]]:
    """(a, b) of the pass rate of every task that was tried, from Beta(1, 1), older groups fading."""
    found: dict[str, tuple[float, float]] = {}
    for step in steps:
        for one in step.tried:
            a, b = found.get(one.task, (1.0, 1.0))
            fails = one.attempts - one.passes
            found[one.task] = (1 + MEMORY * (a - 1) + one.passes, 1 + MEMORY * (b - 1) + fails)
    return found


Curve = list[tuple[int, int, int]]
"""(update, passes, attempts), in order."""


def curves(steps: Sequence[Step], by: str) -> dict[str, Curve]:
    """The curve of each `task`, `tier` or `family`, of what was chosen uniformly: nothing else is unbiased."""
    found: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for step in steps:
        for one in step.tried:
            if one.share == "uniform" and one.attempts:
                row = found[getattr(one, by)].setdefault(step.step, [0, 0])
                row[0], row[1] = row[0] + one.passes, row[1] + one.attempts
    return {
        name: [(step, passes, attempts) for step, (passes, attempts) in sorted(rows.items())]
        for name, rows in sorted(found.items())
    }
