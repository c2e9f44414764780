"""The odds of every task in one draw: a mixture of shares.

A tenth is uniform, so that something unbiased can be watched. A tenth goes by staleness (the rank of how long ago a
task was tried, as in prioritised level replay, arXiv 2010.03934), where what was never tried comes first. The rest
goes by utility: for a pass rate drawn from each posterior (Thompson), the odds 1 - p^G - (1 - p)^G that a group of G
attempts has both outcomes, or p(1 - p), per expected cost. Out of that rest the mastered and the dormant tasks
get what they lack of a twentieth each, and canaries a hundredth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from appliance.sampler.beta import Floats
from appliance.sampler.choices import Share, Utility
from appliance.sampler.roster import Roster
from appliance.sampler.state import Ints, State, posterior
from appliance.sampler.tiers import TIERS

UNIFORM = 0.10
STALE = 0.10
FLOOR = 0.05
"""Least share of the mastered (to see them slip) and of the dormant (to see them wake), where there are any."""
CANARIES = 0.01
BLOCK = 8192
"""Tasks that are computed together: as many as stay in the processor's cache."""
TEMPERATURE = 1.0
"""Utilities are raised to the inverse of this."""


@dataclass(frozen=True)
class Part:
    """One share of a draw: its weight, and the odds of each task in it."""

    share: Share
    weight: float
    odds: Floats
    """(N,) Sums to 1; empty for canaries, which are not in the roster."""


def mix(
    roster: Roster, state: State, group: int, utility: Utility, canaries: bool, source: np.random.Generator
) -> tuple[Part, ...]:
    """The shares of a draw for groups of `group` attempts, in the order in which they choose. Weights sum to 1."""
    count = len(roster)
    uniform, stale = np.full(count, 1 / count), staleness(state)
    parts = [Part("uniform", UNIFORM, uniform)]
    if canaries:
        parts.append(Part("canary", CANARIES, np.empty(0)))
    parts += _floors(state, UNIFORM * uniform + STALE * stale, stale)
    parts.append(Part("staleness", STALE, stale))
    rest = 1 - sum(part.weight for part in parts)
    return (*parts, Part("utility", rest, _normal(worth(roster, state, group, utility, source))))


def staleness(state: State) -> Floats:
    """(N,) Odds by rank: the one tried longest ago weighs N, the one tried last 1; equals share the higher rank."""
    per_update = np.bincount(state.last)
    # How many tasks were tried as recently or more so, by update.
    ranks = np.cumsum(per_update[::-1])[::-1]
    return _normal(ranks[state.last].astype(np.float64))


def worth(roster: Roster, state: State, group: int, utility: Utility, source: np.random.Generator) -> Floats:
    """(N,) What a group at each task is worth per cost, for one drawn pass rate each.

    A task of which nothing is known, not even by its family, gets the mean of the others: it is neither favoured nor
    avoided.
    """
    seen, found = known(roster, state), np.ones(len(roster))
    if seen.any():
        costs = state.cost[state.cost > 0]
        usual = float(costs.mean()) if len(costs) else 1.0
        for block in _blocks(seen):
            cost = state.cost[block]
            rate = _thompson(*posterior(roster, state, block), source)
            found[block] = usefulness(rate, group, utility) / np.where(cost > 0, cost, usual)
        found[~seen] = found[seen].mean() or 1.0
    return found if TEMPERATURE == 1 else found ** (1 / TEMPERATURE)


def _blocks(seen: npt.NDArray[np.bool_]) -> Iterator[Ints | slice]:
    """The places that are set, some at a time."""
    if seen.all():
        yield from (slice(start, start + BLOCK) for start in range(0, len(seen), BLOCK))
        return
    places = np.flatnonzero(seen).astype(np.int32)
    yield from (places[start : start + BLOCK] for start in range(0, len(places), BLOCK))


def _thompson(a: Floats, b: Floats, source: np.random.Generator) -> Floats:
    """One draw from each Beta(a, b), as a share of two gamma variables in single precision: twice as fast."""
    one, other = (source.standard_gamma(part.astype(np.float32), dtype=np.float32) for part in (a, b))
    found: Floats = (one / np.maximum(one + other, np.finfo(np.float32).tiny)).astype(np.float64)
    return found


def known(roster: Roster, state: State) -> npt.NDArray[np.bool_]:
    """(N,) Whether the task or another of its family was ever tried."""
    families = state.family_passes + state.family_fails > 0
    found: npt.NDArray[np.bool_] = families[roster.family]
    return found


def usefulness(rate: Floats, group: int, utility: Utility) -> Floats:
    """What a group of `group` attempts is worth at these pass rates."""
    if utility == "learnable":
        return rate * (1 - rate)
    return 1 - _power(rate, group) - _power(1 - rate, group)


def _floors(state: State, held: Floats, stale: Floats) -> Iterator[Part]:
    """What the mastered and the dormant lack of their least share, given what each task holds already."""
    names: tuple[tuple[Share, int], ...] = tuple(
        (name, TIERS.index(name)) for name in ("mastered", "dormant")
    )
    for name, number in names:
        members = state.tier == number
        lack = FLOOR - float(held[members].sum())
        if members.any() and lack > 0:
            yield Part(name, lack, _normal(np.where(members, stale, 0.0)))


def _normal(weights: Floats) -> Floats:
    """Made to sum to 1; equal where all are 0."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


def _power(base: Floats, exponent: int) -> Floats:
    """By squaring, which is ten times faster than numpy's."""
    found, square = np.ones_like(base), base.copy()
    while exponent:
        if exponent & 1:
            found = found * square
        square, exponent = square * square, exponent >> 1
    return found
