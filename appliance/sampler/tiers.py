"""Where a task stands for the policy of the moment: five tiers by pass rate, and when a task changes its tier.

A task moves only when the 90 % interval of its posterior lies inside the band of another tier, or outside that of
its own, and two groups or more were judged; else it stays, so that luck at a border does not move it to and fro.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from appliance.sampler.beta import Floats, cdf, quantile

TIERS = ("dormant", "hard", "core", "easy", "mastered")
BOUNDS = (0.0, 0.05, 0.25, 0.75, 0.95, 1.0)
"""Tier i is for pass rates from BOUNDS[i] to BOUNDS[i + 1]."""
TAIL = 0.05
"""Mass on either side of the interval."""
LEAST_TRIES = 2
FROM_LABEL = np.array([1, 2, 3], np.int8)
"""The tiers at which tasks labelled hard, core and easy begin."""


def moved(
    tier: npt.NDArray[np.int8], tries: npt.NDArray[np.int32], a: Floats, b: Floats
) -> npt.NDArray[np.int8]:
    """The tiers of tasks with posteriors Beta(a, b) that stood in `tier`; all shapes (N,)."""
    below = np.stack([cdf(bound, a, b) for bound in BOUNDS])
    enough, found = tries >= LEAST_TRIES, tier.copy()
    rows = np.arange(len(tier))
    # The interval has left the band of the present tier: the mean says which one is nearest.
    gone = (below[tier + 1, rows] <= TAIL) | (below[tier, rows] >= 1 - TAIL)
    nearest = np.digitize(a / (a + b), BOUNDS[1:-1]).astype(np.int8)
    found[gone & enough] = nearest[gone & enough]
    for place in range(len(TIERS)):
        # An interval ends in 0 or 1 only where all of it is there, so the outer bands are open to their side.
        left = (below[place] <= TAIL) | (BOUNDS[place] == 0.0)
        right = (below[place + 1] >= 1 - TAIL) | (BOUNDS[place + 1] == 1.0)
        found[left & right & enough] = place
    return found


def interval(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The ends of the 90 % interval of Beta(a, b)."""
    return quantile(TAIL, a, b), quantile(1 - TAIL, a, b)
