"""V13: the tier a task starts in, from attempts of a base model that are on record."""

from __future__ import annotations

from appliance.admission.check import Check
from appliance.nouns import Task
from appliance.statistics import wilson

NEEDED = {"train": 8, "eval": 16, "canary": 0}
HOPELESS = 64
_TIERS = ((0.05, "dormant"), (0.25, "hard"), (0.75, "core"), (0.95, "easy"), (1.01, "mastered"))


def tier_of(passes: int, attempts: int) -> str:
    """The tier of a pass rate, by the mean of its Beta posterior with a uniform prior."""
    mean = (passes + 1) / (attempts + 2)
    return next(name for limit, name in _TIERS if mean < limit)


def check(task: Task, passes: int, attempts: int) -> Check:
    """`passes` of `attempts` that base models made at this content of the task."""
    name, needed = "calibrated", NEEDED[task.split]
    measured = {"passes": passes, "attempts": attempts, "needed": needed}
    if not needed:
        return Check("V13", name, "not_applicable", measured)
    if attempts < needed:
        remedy = f"appliance eval MODEL --pack {task.pack} --split {task.split} --repeats {needed}"
        return Check("V13", name, "not_run", measured, remedy=remedy)
    tier = tier_of(passes, attempts)
    found = {**measured, "tier": tier, "interval": wilson(passes, attempts)}
    if attempts >= HOPELESS and not passes:
        reason = f"0 of {attempts} passed: possibly impossible"
        return Check("V13", name, "failed", found, reason, "look at it by hand: appliance task show KEY")
    return Check("V13", name, "passed", found)
