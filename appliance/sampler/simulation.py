"""A simulated policy that learns, to compare ways of drawing tasks. It shows what a draw can save.

The model, plainly. Task i passes with the odds of the logistic function of skill minus difficulty; its skill is the sum
of a part of its own, one of its family and one general. A group of G attempts of which a share q passed raises the
task's own part by GAIN * 4 q (1 - q), the family's by a part of that (FAMILY) and the general one by a small part
(GENERAL); a group that is all alike raises nothing. Tasks out of reach never pass. No task is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from appliance.orders import derive_seed
from appliance.sampler.beta import Floats
from appliance.sampler.choices import Score, Utility
from appliance.sampler.draw import Wish, draw
from appliance.sampler.roster import LABELS, Roster, make_roster
from appliance.sampler.state import fresh, observe
from appliance.sampler.tiers import BOUNDS, TIERS

GAIN, FAMILY, GENERAL = 0.5, 0.3, 0.002
BATCH, GROUP = 16, 8
REACH = 0.7
"""The goal: this much of the way from the mean pass rate at the start to the best one possible."""
MOST_UPDATES = 4000
CROWD = 0.05
"""A tier counts as occupied in an update when this share of the tasks stands in it."""
SPREAD = 0.7
"""Standard deviation of the difficulties within a family, in logits."""
MIXED: Mapping[float, float] = {-5.0: 0.25, -2.0: 0.15, 0.0: 0.2, 2.5: 0.2, float("inf"): 0.2}
"""Difficulty of a family's middle, in logits, to share of the families; infinity is out of reach."""
HONEST = 0.7
"""Share of the tasks whose label is the nearest one; the others have any."""

Indexes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """The tasks of a simulation. Arrays are (N,), in the order of the roster."""

    roster: Roster
    difficulty: Floats
    reachable: npt.NDArray[np.bool_]
    cost: Floats
    """Of one attempt."""


@dataclass
class Pupil:
    """The policy."""

    world: World
    own: Floats
    family: Floats
    general: float = 0.0

    def rates(self) -> Floats:
        """(N,) True pass rates."""
        skill = self.own + self.family[self.world.roster.family] + self.general
        logit = np.where(self.world.reachable, skill - self.world.difficulty, -np.inf)
        return 1 / (1 + np.exp(-logit))

    def learn(self, places: Indexes, passes: Indexes) -> None:
        share = passes / GROUP
        gain = GAIN * 4 * share * (1 - share)
        self.own[places] += gain
        np.add.at(self.family, self.world.roster.family[places], FAMILY * gain)
        self.general += GENERAL * float(gain.sum())


@dataclass
class Course:
    """What one way of drawing came to."""

    attempts: int = 0
    cost: float = 0.0
    reached: bool = False
    gaps: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    """Most updates in a row that drew nothing from a tier while it was occupied, by true pass rates."""


Draw = Callable[[int], Indexes]
Learn = Callable[[int, Indexes, Indexes], None]


def make_world(setting: str, seed: int, tasks: int = 600, family: int = 10) -> World:
    """A world by name: `mixed` (`MIXED`), `costly` (the same, with attempts of very different cost) or `band`.

    In `band` every task begins with a pass rate between 0.3 and 0.7, so that there is little to choose.
    """
    source = np.random.default_rng(derive_seed(seed, "world", setting))
    number = np.arange(tasks) // family
    if setting == "band":
        difficulty = source.uniform(-0.85, 0.85, tasks)
    else:
        middles = source.choice(list(MIXED), size=tasks // family, p=list(MIXED.values()))
        difficulty = middles[number] + source.normal(0, SPREAD, tasks)
    nearest = np.digitize(-difficulty, [-1.2, 1.2])
    label = np.where(source.random(tasks) < HONEST, nearest, source.integers(0, 3, tasks))
    cost = source.lognormal(0, 1, tasks) if setting == "costly" else np.ones(tasks)
    rows = [(f"p/t{i:06}", f"f{number[i]:05}", LABELS[label[i]]) for i in range(tasks)]
    reachable = np.isfinite(difficulty)
    return World(make_roster(rows), np.where(reachable, difficulty, 0.0), reachable, cost)


def run_course(world: World, way: str, seed: int) -> Course:
    """Draw, try and learn until the goal is reached, or for `MOST_UPDATES` updates."""
    pupil = Pupil(world, np.zeros(len(world.roster)), np.zeros(len(world.roster.families)))
    source = np.random.default_rng(derive_seed(seed, "course", way))
    pick, learn = WAYS[way](world, seed, source)
    rates = pupil.rates()
    goal = rates.mean() + REACH * (world.reachable.mean() - rates.mean())
    course, idle = Course(), np.zeros(len(TIERS), np.int64)
    for step in range(1, MOST_UPDATES + 1):
        places = pick(step)
        passes = source.binomial(GROUP, rates[places])
        _note_gaps(course, idle, rates, places)
        pupil.learn(places, passes)
        learn(step, places, passes)
        course.attempts += GROUP * len(places)
        course.cost += GROUP * float(world.cost[places].sum())
        rates = pupil.rates()
        if rates.mean() >= goal:
            course.reached = True
            break
    return course


def _note_gaps(course: Course, idle: npt.NDArray[np.int64], rates: Floats, places: Indexes) -> None:
    tier = np.digitize(rates, BOUNDS[1:-1])
    occupied = np.bincount(tier, minlength=len(TIERS)) >= CROWD * len(rates)
    drawn = np.bincount(tier[places], minlength=len(TIERS)) > 0
    idle[:] = np.where(occupied & ~drawn, idle + 1, 0)
    for name, gap in zip(TIERS, idle.tolist(), strict=True):
        course.gaps[name] = max(course.gaps[name], gap)


# the ways of drawing


def _uniform(world: World, seed: int, source: np.random.Generator) -> tuple[Draw, Learn]:
    return lambda step: source.choice(len(world.roster), BATCH, replace=False), lambda *seen: None


def _shuffled(world: World, seed: int, source: np.random.Generator) -> tuple[Draw, Learn]:
    """Every task once per epoch."""
    windows = len(world.roster) // BATCH
    order: list[Indexes] = [source.permutation(len(world.roster))]

    def pick(step: int) -> Indexes:
        window = (step - 1) % windows
        if window == 0:
            order[0] = source.permutation(len(world.roster))
        return order[0][window * BATCH : (window + 1) * BATCH]

    return pick, lambda *seen: None


def _pools(world: World, seed: int, source: np.random.Generator) -> tuple[Draw, Learn]:
    """Three pools by the newest group's mean, weights 0.2, 1 and 0.2 (prime-rl's defaults: borders 0.25 and 0.75)."""
    weight = np.ones(len(world.roster))

    def pick(step: int) -> Indexes:
        return source.choice(len(weight), BATCH, replace=False, p=weight / weight.sum())

    def learn(step: int, places: Indexes, passes: Indexes) -> None:
        share = passes / GROUP
        weight[places] = np.where((share > 0.25) & (share < 0.75), 1.0, 0.2)

    return pick, learn


def _ours(utility: Utility) -> Callable[[World, int, np.random.Generator], tuple[Draw, Learn]]:
    def way(world: World, seed: int, source: np.random.Generator) -> tuple[Draw, Learn]:
        state: list[Any] = [fresh(world.roster)]

        def pick(step: int) -> Indexes:
            drawn = draw(world.roster, state[0], Wish(seed, step, BATCH, GROUP, utility))
            return np.array([world.roster.places[choice.task_key] for choice in drawn], np.int64)

        def learn(step: int, places: Indexes, passes: Indexes) -> None:
            rows = zip(places.tolist(), passes.tolist(), strict=True)
            scores = [
                Score(world.roster.keys[place], step, passed, GROUP, float(world.cost[place]))
                for place, passed in rows
            ]
            state[0] = observe(world.roster, state[0], step, scores)

        return pick, learn

    return way


WAYS: Mapping[str, Callable[[World, int, np.random.Generator], tuple[Draw, Learn]]] = {
    "uniform": _uniform,
    "shuffled": _shuffled,
    "pools": _pools,
    "learnable": _ours("learnable"),
    "odds": _ours("odds"),
}
