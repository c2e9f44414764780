"""Which tasks an update tries: those whose outcome is least certain for the policy of the moment.

A task that always fails or always passes gives a dead group, and a dead group teaches nothing. So every task keeps a
Beta posterior of its pass rate, older evidence counting less since the policy moves, with the rate of its tier as
prior; its weight in the draw is the posterior mean of p(1 - p), the learnability of arXiv 2502.12272, with a floor
so that no task is out of reach for good. Pure arithmetic: equal evidence and seed, equal draw.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from appliance.nouns import Task
from appliance.orders import derive_seed

MEMORY = 0.9
"""Evidence that is one update older counts this much of it."""
PRIOR_ATTEMPTS = 4.0
"""The rate of the tier weighs as much as this many attempts at the task itself."""
FLOOR = 0.02
"""Smallest weight; the largest possible is 0.25."""


@dataclass(frozen=True, slots=True)
class Score:
    """What one group came to: `passes` of the `attempts` that have a reward, at update `step`."""

    task_key: str
    step: int
    passes: int
    attempts: int


def draw_shuffled(tasks: Sequence[Task], seed: int, step: int, count: int) -> list[Task]:
    """Return the tasks of update `step` (from 1): windows over a fresh shuffle per epoch, so none starves."""
    windows = len(tasks) // count
    epoch, window = divmod(step - 1, windows)
    shuffled = list(tasks)
    random.Random(derive_seed(seed, "tasks", epoch)).shuffle(shuffled)
    return shuffled[window * count : (window + 1) * count]


def draw_learnable(
    tasks: Sequence[Task], past: Sequence[Score], seed: int, step: int, count: int
) -> list[Task]:
    """Return `count` different tasks for update `step`, drawn by learnability (Efraimidis and Spirakis, 2006)."""
    weights = learnability(tasks, past, step)
    source = random.Random(derive_seed(seed, "draw", step))
    keys = {task.key: source.random() ** (1 / weights[task.key]) for task in tasks}
    return sorted(tasks, key=lambda task: keys[task.key], reverse=True)[:count]


def learnability(tasks: Sequence[Task], past: Sequence[Score], step: int) -> dict[str, float]:
    """Return the weight of every task in the draw of update `step`, given what came before it."""
    tiers = {task.key: task.tier for task in tasks}
    by_task = _faded(past, step, lambda score: score.task_key)
    by_tier = _faded(past, step, lambda score: tiers.get(score.task_key, ""))
    weights = {}
    for task in tasks:
        tier_passes, tier_fails = by_tier[task.tier]
        rate = (1 + tier_passes) / (2 + tier_passes + tier_fails)
        passes, fails = by_task[task.key]
        spread = _mean_spread(PRIOR_ATTEMPTS * rate + passes, PRIOR_ATTEMPTS * (1 - rate) + fails)
        weights[task.key] = max(spread, FLOOR)
    return weights


def _mean_spread(a: float, b: float) -> float:
    """The mean of p(1 - p) for p drawn from Beta(a, b)."""
    return a * b / ((a + b) * (a + b + 1))


def _faded(
    past: Sequence[Score], step: int, name: Callable[[Score], str]
) -> Mapping[str, tuple[float, float]]:
    """Passes and fails by name, each faded by its age at update `step`."""
    counts: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for score in past:
        (passes, fails), weight = counts[name(score)], MEMORY ** (step - 1 - score.step)
        missed = score.attempts - score.passes
        counts[name(score)] = (passes + weight * score.passes, fails + weight * missed)
    return counts
