"""Where to look next after a run: rules over its numbers, each naming the setting or the command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from appliance.clean import clean_line
from appliance.narrate import percent
from appliance.statistics import Change

DEAD_SHARE = 0.4
TRUNCATED_SHARE = 0.2
REWARD_GAIN = 0.1
NAMED = 3


@dataclass(frozen=True, slots=True)
class Findings:
    """The numbers of a run that the rules look at."""

    run_id: str
    state: str
    overall: Change | None
    rates: tuple[Mapping[str, float], Mapping[str, float]]
    """pass@1 per eval task before and after."""
    last_step: int
    """Step of the last evaluation."""
    rewards: tuple[float, ...]
    dead: tuple[float, float]
    """Share of groups all-fail and all-pass."""
    truncated: float
    """Share of attempts cut off at the token limit."""
    masked: int
    train_tasks: tuple[Mapping[str, Any], ...]
    """task_key, groups, all_fail, all_pass, mean."""
    go_on: str
    """The command that goes on with the run."""


def next_steps(found: Findings) -> tuple[str, ...]:
    """What to do next, most pressing first; never empty."""
    steps = [*_ending(found), *_certainty(found), *_waste(found), *_tasks(found)]
    watch = f"look at single attempts: appliance attempt list {clean_line(found.run_id)} --purpose eval"
    return (*steps, watch)


def _ending(found: Findings) -> Iterator[str]:
    if found.state in ("stopped", "failed"):
        yield f"go on where it ended: {found.go_on}"
    if found.masked:
        yield f"{found.masked} attempts were lost to host faults: appliance doctor"


def _certainty(found: Findings) -> Iterator[str]:
    change = found.overall
    if change is None:
        return
    if change.low <= 0 <= change.high:
        yield "the interval holds zero: raise evaluation.attempts or grpo.updates, or add eval tasks"
    rose = found.rewards[-1] - found.rewards[0] if found.rewards else 0.0
    if rose >= REWARD_GAIN and change.change < rose / 3:
        yield (
            f"training reward rose by {rose:.2f}, held out by {change.change:.2f}: add more and more varied train tasks"
        )


def _waste(found: Findings) -> Iterator[str]:
    fail, full = found.dead
    if fail >= DEAD_SHARE:
        yield f"{percent(fail, 0)} of the groups were all-fail: add easier tasks or raise grpo.attempts_per_task"
    if full >= DEAD_SHARE:
        yield f"{percent(full, 0)} of the groups were all-pass: add harder tasks"
    if found.truncated >= TRUNCATED_SHARE:
        yield f"{percent(found.truncated, 0)} of the attempts were cut off: raise sampling.max_tokens"


def _tasks(found: Findings) -> Iterator[str]:
    never = [row["task_key"] for row in found.train_tasks if row["all_fail"] == row["groups"]]
    if never:
        yield f"train tasks never passed: {_some(never)}"
    before, after = found.rates
    lost = sorted(
        (after[key] - before[key], key) for key in before.keys() & after.keys() if after[key] < before[key]
    )
    if lost:
        yield f"eval tasks that got worse: {_some([key for _, key in lost])}"


def _some(keys: list[str]) -> str:
    named = ", ".join(clean_line(key, 80) for key in keys[:NAMED])
    return named if len(keys) <= NAMED else f"{named} and {len(keys) - NAMED} more"
