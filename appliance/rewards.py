"""The scalar: R = G · [(1 − β) · C + β · C · Σ wⱼ qⱼ], rounded down to a step of 0.05.

G is the product of the gates, C the core (what the hidden cases say), q the secondary signals with weights that add
up to 1, β at most 0.2. A gate earns nothing, and secondary points exist only as far as the core does, so that easy
points cannot be collected while the work is not done (compare Liu et al., GDPO, arXiv 2601.05242).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from appliance.nouns import Signal

REWARD_STEPS = 20
"""Rewards are multiples of 1/20, so that noise cannot become an advantage."""
BIGGEST_BETA = 0.2


def core(hidden_share: float, mode: str, guess: float = 0.0) -> float:
    """C in [0, 1]: all or nothing by default; `graded` squares the share, so that easy cases alone pay little.

    `guess` is the share that an answer by chance gets; what is below it is worth nothing.
    """
    if mode != "graded":
        return float(hidden_share == 1.0)
    return max(0.0, (hidden_share - guess) / (1.0 - guess)) ** 2


def secondary(signals: Mapping[str, Signal]) -> float:
    """Σ wⱼ qⱼ over the secondary signals, their weights taken as shares of their sum; 1 when there are none."""
    chosen = [signal for signal in signals.values() if signal.role == "secondary"]
    total = sum(signal.weight for signal in chosen)
    return sum(signal.weight * signal.value for signal in chosen) / total if total else 1.0


def reward(gates: Mapping[str, bool], core: float, beta: float = 0.0, secondary: float = 1.0) -> float:
    """Rounded down, so that only a complete solution without a blemish reaches 1."""
    if not all(gates.values()):
        return 0.0
    exact = core * ((1.0 - beta) + beta * secondary)
    return math.floor(exact * REWARD_STEPS + 1e-9) / REWARD_STEPS
