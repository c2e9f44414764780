"""V13: the tier a task starts in, from attempts of a base model that are on record.

A pass rate p has the posterior Beta(passes + 1, failures + 1). Limits of the tiers: of its upper end, mean and lower
end at 90 %, as the sampler uses them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from appliance.admission.check import Check
from appliance.nouns import Task
from appliance.sampler.beta import quantile

NAME = "calibrated"
NEEDED = {"train": 8, "eval": 16, "canary": 0}
"""Attempts of a base model, by split."""
HOPELESS = 64
"""Attempts without a pass from which a task may be impossible."""
LEVEL = 0.90
DORMANT, HARD, CORE, MASTERED = 0.05, 0.25, 0.75, 0.95
Tier = Literal["dormant", "hard", "core", "easy", "mastered"]


def tier_of(passes: int, attempts: int) -> Tier:
    """The tier of `passes` in `attempts`: dormant and mastered only where the whole interval says so."""
    low, high = interval(passes, attempts)
    mean = (passes + 1) / (attempts + 2)
    if high < DORMANT:
        return "dormant"
    if low > MASTERED:
        return "mastered"
    return "hard" if mean < HARD else "core" if mean < CORE else "easy"


def interval(passes: int, attempts: int, level: float = LEVEL) -> tuple[float, float]:
    """The central interval of the Beta posterior with a uniform prior, from 0 to 1."""
    a, b = np.array([passes + 1.0]), np.array([attempts - passes + 1.0])
    low, high = (float(quantile(share, a, b)[0]) for share in ((1 - level) / 2, (1 + level) / 2))
    return low, high


def check(task: Task, passes: int, attempts: int) -> Check:
    """`passes` of `attempts` that base models made at this content of the task."""
    needed = NEEDED[task.split]
    measured: dict[str, Any] = {"passes": passes, "attempts": attempts, "needed": needed}
    if not needed:
        return Check("V13", NAME, "not_applicable", measured)
    if attempts < needed:
        remedy = f"appliance eval MODEL --pack PACK --split {task.split} --repeats 16"
        return Check("V13", NAME, "not_run", measured, remedy=remedy)
    measured |= {
        "tier": tier_of(passes, attempts),
        "interval": [round(end, 4) for end in interval(passes, attempts)],
    }
    if attempts >= HOPELESS and not passes:
        reason = f"0 of {attempts} passed: possibly impossible"
        remedy = f"look at it by hand: appliance task show {task.key}"
        return Check("V13", NAME, "failed", measured, reason, remedy)
    return Check("V13", NAME, "passed", measured)
