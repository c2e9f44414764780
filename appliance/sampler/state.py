"""What was seen of every task, as arrays, and how a new update changes it. Pure: a change makes a new state.

Each task keeps a discounted Beta posterior of its pass rate (the form of MoPPS, arXiv 2507.04632): whenever a group of
it is judged, a <- m a + (1 - m) a0 + passes and b likewise, with m = 0.9. What is stored is the part above the prior,
which then only fades and grows, so that the prior may follow the family: the tasks of one family are variants of each
other, and what was seen of the others is the best guess about one that was never tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from appliance.sampler import tiers
from appliance.sampler.beta import Floats
from appliance.sampler.choices import Score
from appliance.sampler.roster import Roster

MEMORY = 0.9
"""What older evidence counts when a new group of the task is judged."""
LABEL_RATES = np.array([0.15, 0.5, 0.85])
"""Pass rates that the authored tiers hard, core and easy stand for: the middle of the bands of those names."""
LABEL_ATTEMPTS = 2.0
"""The label weighs as much as this many attempts."""
FAMILY_ATTEMPTS = 4.0
"""The evidence of the other tasks of the family weighs as much as this many attempts at most."""

Ints = npt.NDArray[np.int32]
EVERY = slice(None)
Numbers = TypeVar("Numbers", bound="npt.NDArray[Any]")


@dataclass(frozen=True)
class State:
    """Evidence up to and including update `step`, for N tasks in F families."""

    step: int
    passes: Floats
    """(N,) Faded count of passed attempts."""
    fails: Floats
    """(N,) Faded count of the other attempts that have a reward."""
    tries: Ints
    """(N,) Groups that gave evidence."""
    last: Ints
    """(N,) Update in which the task was tried last; 0: never."""
    tier: npt.NDArray[np.int8]
    """(N,) Position in `tiers.TIERS`."""
    cost: Floats
    """(N,) Moving mean of the cost of an attempt; 0: unknown."""
    family_passes: Floats
    """(F,) Faded once for each update that tried the family."""
    family_fails: Floats


def fresh(roster: Roster) -> State:
    """Before the first update: nothing was seen, and every task stands where its author put it."""
    tasks, families = len(roster), len(roster.families)
    return State(
        0,
        np.zeros(tasks),
        np.zeros(tasks),
        np.zeros(tasks, np.int32),
        np.zeros(tasks, np.int32),
        tiers.FROM_LABEL[roster.label],
        np.zeros(tasks),
        np.zeros(families),
        np.zeros(families),
    )


def posterior(roster: Roster, state: State, chosen: Ints | slice = EVERY) -> tuple[Floats, Floats]:
    """a and b of every task, or of those that are chosen by position."""
    family = roster.family[chosen]
    # The family's evidence fades faster than a task's own, so that its rest can fall below nothing.
    others = np.maximum(state.family_passes[family] - state.passes[chosen], 0)
    missed = np.maximum(state.family_fails[family] - state.fails[chosen], 0)
    label = LABEL_RATES[roster.label[chosen]]
    seen = others + missed
    weight = LABEL_ATTEMPTS + np.minimum(seen, FAMILY_ATTEMPTS)
    a = weight * (LABEL_ATTEMPTS * label + others) / (LABEL_ATTEMPTS + seen)
    return a + state.passes[chosen], weight - a + state.fails[chosen]


def observe(roster: Roster, state: State, step: int, scores: Sequence[Score]) -> State:
    """The state after update `step`, whose groups came to `scores`: one of a task at most, of known tasks only."""
    known = [score for score in scores if score.task_key in roster.places]
    places = np.array([roster.places[score.task_key] for score in known], np.int32)
    last = state.last.copy()
    last[places] = step
    told = [score for score in known if score.attempts]
    if not told:
        return replace(state, step=step, last=last)
    places = np.array([roster.places[score.task_key] for score in told], np.int32)
    passes = np.array([float(score.passes) for score in told])
    fails = np.array([float(score.attempts - score.passes) for score in told])
    families = roster.family[places]
    tries = _changed(state.tries, places, state.tries[places] + 1)
    grown = replace(
        state,
        step=step,
        passes=_changed(state.passes, places, MEMORY * state.passes[places] + passes),
        fails=_changed(state.fails, places, MEMORY * state.fails[places] + fails),
        tries=tries,
        last=last,
        cost=_costs(state, tries, places, told),
        family_passes=_pooled(state.family_passes, families, passes),
        family_fails=_pooled(state.family_fails, families, fails),
    )
    a, b = posterior(roster, grown, places)
    moved = tiers.moved(grown.tier[places], tries[places], a, b)
    return replace(grown, tier=_changed(grown.tier, places, moved))


def _changed(values: Numbers, places: Ints, new: Numbers) -> Numbers:
    found = values.copy()
    found[places] = new
    return found


def _pooled(values: Floats, families: Ints, new: Floats) -> Floats:
    found = values.copy()
    found[np.unique(families)] *= MEMORY
    np.add.at(found, families, new)
    return found


def _costs(state: State, tries: Ints, places: Ints, told: Sequence[Score]) -> Floats:
    """A plain mean at first, later one in which the newest group weighs a tenth."""
    old, new = state.cost[places], np.array([score.cost for score in told])
    weight = np.maximum(1 / tries[places], 1 - MEMORY)
    mean = np.where(old > 0, old + weight * (new - old), new)
    found = state.cost.copy()
    found[places] = np.where(new > 0, mean, old)
    return found


def rebuilt(roster: Roster, scores: Sequence[Score], state: State | None = None) -> State:
    """The state after all that is on record, update by update: equal records, equal state, so a resume draws alike.

    With a `state` only what came after it is looked at.
    """
    state = state or fresh(roster)
    scores = [score for score in scores if score.step > state.step]
    for step, group in groupby(sorted(scores, key=lambda score: score.step), key=lambda score: score.step):
        state = observe(roster, state, step, list(group))
    return state
