"""Pass rates of an evaluation, and how sure a change of them is. Pure arithmetic: numbers in, numbers out.

pass@1 of a task is its share of passed attempts; of a set of tasks, the mean of those, so that every task weighs
the same. The interval is a paired bootstrap: tasks are redrawn with replacement, before and after together, and
the percentiles of the mean change are read off. It covers the luck of which tasks were drawn, not of seeds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """A paired change of pass@1 over a set of tasks; shares, not percent."""

    tasks: int
    before: float
    after: float
    low: float
    """Lower end of the interval of `after - before`."""
    high: float

    @property
    def change(self) -> float:
        return self.after - self.before


def pass_rates(by_task: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """pass@1 per task of an evaluation; tasks without a judged attempt are left out."""
    return {key: tally["c"] / tally["n"] for key, tally in by_task.items() if tally["n"]}


def paired_change(before: Mapping[str, float], after: Mapping[str, float], *, seed: int) -> Change | None:
    """The change over the tasks both sides know, None when there are none."""
    keys = sorted(before.keys() & after.keys())
    if not keys:
        return None
    low, high = paired_bootstrap([after[key] - before[key] for key in keys], seed=seed)
    return Change(
        len(keys), _mean([before[key] for key in keys]), _mean([after[key] for key in keys]), low, high
    )


def paired_bootstrap(
    differences: Sequence[float], *, seed: int, draws: int = DRAWS, level: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean of paired differences, one per task."""
    draw, count = random.Random(seed), len(differences)
    means = sorted(math.fsum(draw.choices(differences, k=count)) / count for _ in range(draws))
    tail = (1 - level) / 2
    return quantile(means, tail), quantile(means, 1 - tail)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of a sorted sequence lies, linear between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
