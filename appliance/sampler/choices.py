"""What goes into a draw and what comes out of it. No library is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Share = Literal["uniform", "canary", "mastered", "dormant", "staleness", "utility"]
"""By which part of the draw a task was chosen."""

Utility = Literal["odds", "learnable"]
"""What a group at a task is worth: the odds that its outcomes differ, or p(1 - p)."""

UTILITIES: tuple[Utility, ...] = ("odds", "learnable")


@dataclass(frozen=True, slots=True)
class Score:
    """What one group came to: `passes` of the `attempts` that have a reward, at update `step`.

    `cost` is the mean cost of one attempt, in any unit that is the same for all tasks; 0 is unknown.
    """

    task_key: str
    step: int
    passes: int
    attempts: int
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """A task that a draw chose."""

    task_key: str
    share: Share
    probability: float
    """That one slot of the batch goes to this task, caps and the other slots aside."""
    mean: float | None
    """Posterior mean of the pass rate at that moment; None of a canary."""
    tier: str
    """Where the task stood, a word of `tiers.TIERS`, or `canary`."""
