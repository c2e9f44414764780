"""Evaluations as baselines: their figures, and the paired comparison of two. Numbers in, numbers out.

An evaluation is a row of the store: `by_task` holds n attempts with a reward and c passes for each task, with the
task's hash. Every figure is the mean over tasks, so that each weighs the same. Intervals are percentile bootstraps
over tasks: they cover the luck of which tasks were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from appliance.statistics import (
    Change,
    paired_bootstrap,
    paired_change,
    pass_all,
    pass_at,
    pass_rates,
    sign_test,
)

ByTask = Mapping[str, Mapping[str, Any]]
FEWEST_TASKS = 10
"""A bootstrap over fewer tasks is too narrow to call a change one."""
Estimator = Callable[[int, int, int], float | None]


@dataclass(frozen=True, slots=True)
class Figure:
    """One k: the means over the tasks that have k attempts, None where there is none."""

    k: int
    tasks: int
    pass_at: float | None
    pass_all: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two evaluations over the tasks that both hold with the same content; `change` is the second less the first."""

    change: Change | None
    better: tuple[tuple[str, float, float], ...]
    """Task, pass rate before, after; the largest change first."""
    worse: tuple[tuple[str, float, float], ...]
    p: float
    """Of the sign test over tasks."""
    left_out: Mapping[str, str]
    """Task to why it is not compared."""

    @property
    def regressed(self) -> bool:
        """Whether the interval of the change lies below zero; never said of fewer than ten tasks."""
        return self.change is not None and self.change.tasks >= FEWEST_TASKS and self.change.high < 0

    @property
    def improved(self) -> bool:
        return self.change is not None and self.change.tasks >= FEWEST_TASKS and self.change.low > 0

    def to_json(self) -> dict[str, Any]:
        change = self.change and asdict(self.change) | {"change": self.change.change}
        return asdict(self) | {"change": change, "regressed": self.regressed, "improved": self.improved}


def ladder(most: int) -> tuple[int, ...]:
    """The k that are shown for `most` attempts: powers of two and the last."""
    powers = [2**i for i in range(most.bit_length()) if 2**i <= most]
    return tuple(sorted({*powers, most})) if most else ()


def figures(by_task: ByTask, ks: Sequence[int]) -> list[Figure]:
    """pass@k and pass^k for each k."""
    found = []
    for k in ks:
        able = [tally for tally in by_task.values() if tally["n"] >= k]
        found.append(Figure(k, len(able), _mean_of(able, k, pass_at), _mean_of(able, k, pass_all)))
    return found


def _mean_of(tallies: Sequence[Mapping[str, Any]], k: int, estimator: Estimator) -> float | None:
    values = [value for tally in tallies if (value := estimator(tally["n"], tally["c"], k)) is not None]
    return math.fsum(values) / len(values) if values else None


def interval(by_task: ByTask, *, seed: int = 0) -> tuple[float, float] | None:
    """The 95 % interval of the mean pass rate; None without a judged attempt."""
    rates = list(pass_rates(by_task).values())
    return paired_bootstrap(rates, seed=seed) if rates else None


def by_group(by_task: ByTask, name: Callable[[str, Mapping[str, Any]], str]) -> dict[str, dict[str, Any]]:
    """Tasks, attempts and mean pass rate by what `name` calls each task."""
    groups: dict[str, dict[str, Mapping[str, Any]]] = {}
    for key, tally in by_task.items():
        groups.setdefault(name(key, tally), {})[key] = tally
    return {
        group: {
            "tasks": len(members),
            "attempts": sum(tally["n"] for tally in members.values()),
            "pass_rate": _mean_of(list(members.values()), 1, pass_at),
        }
        for group, members in sorted(groups.items())
    }


def compare(before: ByTask, after: ByTask, *, seed: int = 0) -> Comparison:
    """Compare two evaluations task by task; a task whose content is not known to be the same is left out by name."""
    left_out = {
        key: why for key in sorted(before.keys() | after.keys()) if (why := _unlike(before, after, key))
    }
    old = {key: rate for key, rate in pass_rates(before).items() if key not in left_out}
    new = {key: rate for key, rate in pass_rates(after).items() if key not in left_out}
    moved = sorted((new[key] - old[key], key) for key in old.keys() & new.keys() if new[key] != old[key])
    worse = tuple((key, old[key], new[key]) for change, key in moved if change < 0)
    better = tuple((key, old[key], new[key]) for change, key in reversed(moved) if change > 0)
    p = sign_test(len(better), len(worse))
    return Comparison(paired_change(old, new, seed=seed), better, worse, p, left_out)


def _unlike(before: ByTask, after: ByTask, key: str) -> str:
    """Why a task cannot be compared; nothing when it can."""
    if key not in before or key not in after:
        return "only in the first" if key in before else "only in the second"
    if not before[key]["n"] or not after[key]["n"]:
        return "without a judged attempt"
    hashes = before[key].get("task_hash"), after[key].get("task_hash")
    return (
        ""
        if hashes[0] == hashes[1] and hashes[0]
        else "another task content"
        if all(hashes)
        else "content unknown"
    )
