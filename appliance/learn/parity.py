"""Whether engine and learner compute the same policy: the comparison and the gate.

Plain arithmetic over log-probabilities; both sides are asked elsewhere. The limits are those of an unquantised
rollout file: measured differences are 0.001 to 0.002 in the mean (the engine keeps keys and values in float16), so a
mean of 0.005 or a single token off by 0.05 is a defect (scale, layout, position, adapter) and not rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.errors import IntegrityError

MEAN_LIMIT = 0.005
MAX_LIMIT = 0.05


@dataclass(frozen=True, slots=True)
class Parity:
    """Differences of log-probabilities over the same tokens, learner minus engine."""

    tokens: int
    mean_abs: float
    max_abs: float
    k3: float


def compare(engine: Sequence[Sequence[float]], learner: Sequence[Sequence[float]]) -> Parity:
    """Compare two lists of scored completions, token by token."""
    differences = [
        ours - theirs
        for theirs_row, ours_row in zip(engine, learner, strict=True)
        for theirs, ours in zip(theirs_row, ours_row, strict=True)
    ]
    if not differences:
        raise IntegrityError("parity: there is no token to compare")
    absolute = [abs(difference) for difference in differences]
    k3 = sum(math.expm1(difference) - difference for difference in differences)
    count = len(differences)
    return Parity(count, sum(absolute) / count, max(absolute), k3 / count)


def require(parity: Parity, mean_limit: float = MEAN_LIMIT, max_limit: float = MAX_LIMIT) -> None:
    """Refuse to go on above the limits."""
    if parity.mean_abs <= mean_limit and parity.max_abs <= max_limit:
        return
    raise IntegrityError(
        f"engine and learner disagree: mean {parity.mean_abs:.4f} (limit {mean_limit}), "
        f"largest {parity.max_abs:.4f} (limit {max_limit}) over {parity.tokens} tokens",
        remedy="prepare the base again; if that does not help, the model family is not handled correctly",
    )
