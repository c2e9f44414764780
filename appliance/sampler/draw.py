"""One draw: which tasks an update tries, by which share, and how likely that was. Equal arguments, equal draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from appliance.orders import derive_seed
from appliance.sampler.beta import Floats
from appliance.sampler.choices import Choice, Utility
from appliance.sampler.mixture import Part, mix
from appliance.sampler.roster import Roster
from appliance.sampler.state import State, posterior
from appliance.sampler.tiers import TIERS

FAMILY_CAP = 0.10
"""Most of a batch for one family, but at least one task; broken only where nothing else is left to draw."""
TRIES = 64
"""Draws that may hit what is taken before the odds are made anew without it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a draw: `count` tasks for update `step` (from 1) and groups of `group` attempts.

    `number` counts the draws of one update, from 1; `taken` are the keys that the earlier ones drew. A task is drawn
    once in an update at most.
    """

    seed: int
    step: int
    count: int
    group: int
    utility: Utility = "odds"
    number: int = 1
    taken: Collection[str] = ()
    canaries: Sequence[str] = ()
    """Keys of tasks that cannot be solved, in order; no evidence is kept of them."""


def draw(roster: Roster, state: State, wish: Wish) -> list[Choice]:
    """The choices for `wish`: as many as wanted, or as are left."""
    source = np.random.default_rng(derive_seed(wish.seed, "draw", wish.step, wish.number))
    canaries = [key for key in wish.canaries if key not in wish.taken]
    parts = mix(roster, state, wish.group, wish.utility, bool(canaries), source)
    basket = _Basket(roster, wish)
    count = min(wish.count, int((~basket.taken).sum()))
    chosen: list[tuple[Part, int]] = []
    drawn: list[Choice] = []
    for part, slots in zip(parts, _slots([part.weight for part in parts], count, source), strict=True):
        if part.share == "canary":
            picked = source.permutation(len(canaries))[:slots]
            odd = part.weight / len(canaries)
            drawn += [Choice(canaries[place], "canary", odd, None, "canary") for place in picked]
            slots = 0
        elif part is parts[-1]:
            slots = count - len(chosen) - len(drawn)
        chosen += zip([part] * slots, basket.pick(part.odds, slots, source), strict=True)
    places = np.array([place for _, place in chosen], np.int32)
    a, b = posterior(roster, state, places)
    means = (a / (a + b)).tolist()
    odds = sum(part.weight * part.odds[places] for part in parts if part.share != "canary")
    drawn += [
        Choice(roster.keys[place], part.share, float(odd), mean, TIERS[state.tier[place]])
        for (part, place), mean, odd in zip(chosen, means, np.atleast_1d(odds), strict=True)
    ]
    return drawn


def _slots(weights: Sequence[float], count: int, source: np.random.Generator) -> list[int]:
    """How many of `count` slots each share gets: its weight of them on average, never off by one or more.

    Systematic sampling: equally spaced points over the weights laid end to end, with one random offset.
    """
    points = (np.arange(count) + source.random()) / max(count, 1)
    edges = np.cumsum(weights)
    edges[-1] = 1.0
    below = np.searchsorted(points, edges)
    return [int(slots) for slots in np.diff(below, prepend=0)]


class _Basket:
    """What one draw has taken so far."""

    def __init__(self, roster: Roster, wish: Wish) -> None:
        self._family = roster.family
        self.taken = np.zeros(len(roster), np.bool_)
        places = [roster.places[key] for key in wish.taken if key in roster.places]
        self.taken[places] = True
        self._held = Counter(self._family[places].tolist())
        self._most = max(1, int(FAMILY_CAP * (wish.count + len(places))))

    def pick(self, odds: Floats, count: int, source: np.random.Generator) -> list[int]:
        """Take `count` different places, one after the other, by `odds` without what is taken or full."""
        sums = np.cumsum(odds)
        return [self._take(self._one(odds, sums, source)) for _ in range(count)]

    def _one(self, odds: Floats, sums: Floats, source: np.random.Generator) -> int:
        for _ in range(TRIES):
            place = min(int(np.searchsorted(sums, source.random() * sums[-1], "right")), len(sums) - 1)
            if not self.taken[place] and self._held[int(self._family[place])] < self._most:
                return place
        full = [family for family, held in self._held.items() if held >= self._most]
        free = ~self.taken
        for allowed in (odds * (free & ~np.isin(self._family, full)), odds * free, free.astype(np.float64)):
            if (total := allowed.sum()) > 0:
                place = int(np.searchsorted(np.cumsum(allowed), source.random() * total, "right"))
                return int(np.flatnonzero(allowed)[-1]) if place >= len(odds) else place
        raise ValueError("more tasks are wanted than are left")

    def _take(self, place: int) -> int:
        self.taken[place] = True
        self._held[int(self._family[place])] += 1
        return place
