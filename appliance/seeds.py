"""Several runs of one recipe with different seeds, taken together.

Per eval task the pass rates of the runs are averaged, before and after; the interval is the paired bootstrap over
tasks of those averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from appliance.errors import UsageError
from appliance.reads import Reads
from appliance.statistics import Change, paired_change, pass_rates

BOOTSTRAP_SEED = 0


@dataclass(frozen=True, slots=True)
class RunChange:
    """One run: its seed, the change of its held-out pass@1 and the seconds of its updates and evaluations."""

    run_id: str
    seed: int
    change: Change
    seconds: float


@dataclass(frozen=True, slots=True)
class Summary:
    """All runs, and their mean."""

    runs: tuple[RunChange, ...]
    mean: Change

    @property
    def text(self) -> str:
        head = f"{'held-out pass@1':<40} {'seed':>4}  before   after  points  95 % interval   minutes"
        rows = [_row(run.run_id, str(run.seed), run.change, f"{run.seconds / 60:.1f}") for run in self.runs]
        return "\n".join([head, *rows, _row("mean of the runs", "", self.mean, "")])


def summarise(reads: Reads, run_ids: Sequence[str]) -> Summary:
    """Compare the first and the last evaluation of each run. Raises NotFoundError, UsageError."""
    rates, runs = [], []
    _check_runs(reads, run_ids)
    for run_id in run_ids:
        run = reads.run(run_id)
        evaluations = reads.evaluations(run_id)
        if len(evaluations) < 2:
            raise UsageError(f"{run_id} has no evaluation before and after", remedy="name finished runs only")
        ends = pass_rates(evaluations[0]["by_task"]), pass_rates(evaluations[-1]["by_task"])
        change = paired_change(*ends, seed=BOOTSTRAP_SEED)
        if change is None:
            raise UsageError(f"{run_id}: its evaluations share no task", remedy="name runs of one recipe")
        rates.append(ends)
        rows: list[dict[str, Any]] = [*evaluations, *reads.updates(run_id)]
        runs.append(RunChange(run_id, run["seed"], change, sum(row["seconds"] for row in rows)))
    mean = paired_change(
        _average([r[0] for r in rates]), _average([r[1] for r in rates]), seed=BOOTSTRAP_SEED
    )
    if mean is None:
        raise UsageError("the runs share no eval task", remedy="name runs of one recipe")
    return Summary(tuple(runs), mean)


def _check_runs(reads: Reads, run_ids: Sequence[str]) -> None:
    """Different runs of one recipe; the seed alone may differ."""
    if len(set(run_ids)) < len(run_ids):
        raise UsageError("a run is named twice", remedy="name every run once")
    recipes = [{**reads.run(run_id)["recipe"], "seed": None} for run_id in run_ids]
    for run_id, recipe in zip(run_ids, recipes, strict=True):
        both = recipe.keys() | recipes[0].keys()
        if differing := sorted(key for key in both if recipe.get(key) != recipes[0].get(key)):
            raise UsageError(
                f"{run_id} and {run_ids[0]} differ in {', '.join(differing)}",
                remedy="name runs of one recipe that differ in nothing but the seed",
            )


def _average(rates: Sequence[dict[str, float]]) -> dict[str, float]:
    """Per task that all runs know, the mean of its rates."""
    shared = set.intersection(*(set(rate) for rate in rates))
    return {key: sum(rate[key] for rate in rates) / len(rates) for key in shared}


def _row(name: str, seed: str, change: Change, minutes: str) -> str:
    before, after, points = 100 * change.before, 100 * change.after, 100 * change.change
    interval = f"{100 * change.low:+.1f} to {100 * change.high:+.1f}"
    return f"{name:<40} {seed:>4} {before:5.1f} % {after:5.1f} %  {points:+6.1f}  {interval:<15} {minutes:>7}".rstrip()
