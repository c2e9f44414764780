"""The scalar: R = G · [(1 − β) · C + β · C · Σ wⱼ qⱼ], rounded down to a step of 0.05.

G is the product of the gates, C the core (what the hidden cases say); `quality.blended` gives what is in brackets. A
gate earns nothing, and secondary points exist only for a complete core, so that easy points cannot be collected while
the work is not done (compare Liu et al., GDPO, arXiv 2601.05242).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

REWARD_STEPS = 20
"""Rewards are multiples of 1/20, so that noise cannot become an advantage."""


def core(hidden_share: float, mode: str, guess: float = 0.0) -> float:
    """C in [0, 1]: all or nothing by default; `graded` squares the share, so that easy cases alone pay little.

    `guess` is the share that an answer by chance gets; what is below it is worth nothing.
    """
    if mode != "graded":
        return float(hidden_share == 1.0)
    return max(0.0, (hidden_share - guess) / (1.0 - guess)) ** 2


def reward(gates: Mapping[str, bool], worth: float) -> float:
    """`worth` in [0, 1], rounded down, so that only a complete solution without a blemish reaches 1."""
    if not all(gates.values()):
        return 0.0
    return math.floor(worth * REWARD_STEPS + 1e-9) / REWARD_STEPS
