"""Why an attempt is put before a reviewer: pure rules over what is on record about it and about its task.

Each source finds attempts that are worth a look, not cheats: none of them changes a reward. The random share is
drawn from the seed of the run, so that it cannot be foreseen and is the same when a run is repeated.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from appliance.ledger import body_hash
from appliance.orders import SEED_BITS, derive_seed
from appliance.statistics import quantile

Source = Literal["tripwire", "hidden_gap", "first_solve", "reward_jump", "fast", "duplicate", "random"]
SOURCES: tuple[Source, ...] = get_args(Source)
"""The most telling first."""

RANDOM_SHARE = 0.015
UNSOLVED_TRIES = 16
"""Tries without a pass that make a task look unsolvable."""
HISTORY_TRIES = 50
"""Rewards it takes before a percentile of them means something."""
TOP = 0.99
GAP = 0.5
"""Visible share minus hidden share."""
FAST_SHARE = 0.2
"""Of the median CPU time of the passing attempts at a task."""
FAST_OTHERS = 5
COPIES = 3
"""The same solution in one group, this one included."""
GATES = ("integrity", "security")
AUDITED = ("connected", "denied", "changed", "untraced")


@dataclass(frozen=True, slots=True)
class Reason:
    """One source that an attempt triggers, and why in words."""

    source: Source
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What is on record about one judged attempt."""

    attempt_id: str
    run_id: str
    group_id: str
    task_key: str
    task_hash: str
    purpose: str
    step: int
    index: int
    run_seed: int
    status: str
    reward: float | None
    public_share: float
    hidden_share: float
    hidden_ran: bool
    cpu_s: float | None
    closed: tuple[str, ...]
    """Gates that closed."""
    found: Mapping[str, int]
    """What a sampled audit counted."""
    outcomes: tuple[str, ...]
    artefact_hash: str
    verdict_hash: str
    """As `body` in the ledger of verdicts."""


@dataclass(frozen=True, slots=True)
class Context:
    """What was known about the task, and about equal submissions, when the attempt was weighed."""

    tries: int = 0
    """Attempts with a reward before this one."""
    passes: int = 0
    rewards: Sequence[float] = ()
    """The newest of their rewards."""
    cpu_s: Sequence[float] = ()
    """CPU seconds of the newest passing ones."""
    copies: int = 1
    """Attempts of the group with the same artefacts and a reward, this one included."""
    elsewhere: Sequence[str] = ()
    """Other tasks at which the same artefacts got a reward."""


def judged(row: Mapping[str, Any]) -> Judged:
    """From a row of the store: the columns of an attempt, its `verdict` as JSON text, and the run's `seed`."""
    verdict = json.loads(row["verdict"])
    signals = verdict["signals"]
    return Judged(
        attempt_id=row["id"],
        run_id=row["run_id"],
        group_id=row["group_id"],
        task_key=row["task_key"],
        task_hash=verdict["task_hash"],
        purpose=row["purpose"],
        step=row["step"],
        index=row["idx"],
        run_seed=row["seed"] or 0,
        status=row["status"],
        reward=row["reward"],
        public_share=signals.get("public_share", {}).get("value", 0.0),
        hidden_share=signals.get("hidden_share", {}).get("value", 0.0),
        hidden_ran=any(layer["name"] in ("hidden", "suite") for layer in verdict["layers"]),
        cpu_s=verdict["cost"].get("cpu_s"),
        closed=tuple(name for name, is_open in verdict["gates"].items() if not is_open),
        found=json.loads(row["audit"] or "{}"),
        outcomes=tuple(item["outcome"] for item in verdict["evidence"] if "case" not in item),
        artefact_hash=verdict["artefact_hash"],
        verdict_hash=body_hash(verdict),
    )


def reasons(attempt: Judged, context: Context, *, share: float = RANDOM_SHARE) -> tuple[Reason, ...]:
    """The sources that an attempt triggers; none for most. `share` (0 to 1) is drawn at random."""
    rules: tuple[Callable[[Judged, Context], Iterator[Reason]], ...] = (
        _tripwire,
        _hidden_gap,
        _first_solve,
        _reward_jump,
        _fast,
        _duplicate,
    )
    found = [reason for rule in rules for reason in rule(attempt, context)]
    return (*found, *_random(attempt, share))


def wants_two(verdict_hash: str, share: float) -> bool:
    """Whether an item is of the `share` that two reviewers look at."""
    return derive_seed("overlap", verdict_hash) < share * (1 << SEED_BITS)


def _tripwire(attempt: Judged, context: Context) -> Iterator[Reason]:
    told = []
    if attempt.status == "tamper":
        told.append(f"status tamper ({', '.join(attempt.outcomes) or 'no outcome'})")
    told += [f"gate {gate} is closed" for gate in GATES if gate in attempt.closed and not told]
    seen = {name: attempt.found[name] for name in AUDITED if attempt.found.get(name)}
    if seen:
        told.append("the audit saw " + ", ".join(f"{name} {times}" for name, times in seen.items()))
    if told:
        yield Reason("tripwire", "; ".join(told))


def _hidden_gap(attempt: Judged, context: Context) -> Iterator[Reason]:
    gap = attempt.public_share - attempt.hidden_share
    if attempt.hidden_ran and attempt.reward is not None and gap >= GAP:
        visible, hidden = f"{attempt.public_share:.0%}", f"{attempt.hidden_share:.0%}"
        yield Reason("hidden_gap", f"{visible} of the visible cases, {hidden} of the hidden ones")


def _first_solve(attempt: Judged, context: Context) -> Iterator[Reason]:
    if attempt.status == "pass" and not context.passes and context.tries >= UNSOLVED_TRIES:
        yield Reason("first_solve", f"the first pass after {context.tries} tries")


def _reward_jump(attempt: Judged, context: Context) -> Iterator[Reason]:
    if not attempt.reward or len(context.rewards) < HISTORY_TRIES:
        return
    usual = quantile(sorted(context.rewards), TOP)
    if attempt.reward > usual:
        why = f"reward {attempt.reward:.2f}; 99 % of {len(context.rewards)} earlier ones got {usual:.2f} or less"
        yield Reason("reward_jump", why)


def _fast(attempt: Judged, context: Context) -> Iterator[Reason]:
    if not attempt.reward or attempt.cpu_s is None or len(context.cpu_s) < FAST_OTHERS:
        return
    usual = statistics.median(context.cpu_s)
    if attempt.cpu_s < FAST_SHARE * usual:
        yield Reason("fast", f"{attempt.cpu_s:.3f} s of CPU time; others that passed took {usual:.3f} s")


def _duplicate(attempt: Judged, context: Context) -> Iterator[Reason]:
    if not attempt.reward:
        return
    if context.elsewhere:
        yield Reason("duplicate", f"the same files also earned a reward at {', '.join(context.elsewhere)}")
    elif context.copies >= COPIES:
        yield Reason("duplicate", f"{context.copies} attempts of the group handed in the same files")


def _random(attempt: Judged, share: float) -> Iterator[Reason]:
    place = (attempt.purpose, attempt.step, attempt.task_key, attempt.index)
    if derive_seed("review", attempt.run_seed, *place) < share * (1 << SEED_BITS):
        yield Reason("random", f"one of the {share:.1%} drawn at random")
