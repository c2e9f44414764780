"""From the rewards of a group to advantages: pure arithmetic.

The baseline is the group mean without division by the standard deviation (Dr. GRPO, arXiv 2503.20783): with
binary rewards the deviation only blows up the groups that are nearly decided. A masked attempt (reward None)
leaves the baseline and gets no advantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

GroupState = Literal["mixed", "all_fail", "all_pass", "masked"]

FLAT = 0.05
"""Rewards are quantised to this step; a group with a smaller range carries no signal."""


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """What a group's rewards say: its state, mean, and one advantage per attempt (None when masked)."""

    state: GroupState
    mean: float | None
    advantages: tuple[float | None, ...]

    @property
    def teaches(self) -> bool:
        return self.state == "mixed"


def judge_group(rewards: Sequence[float | None]) -> GroupOutcome:
    """Return the state, mean and advantages of one group.

    An all-equal group that is neither all 0 nor all 1 (partial credit) is filed with the nearer side.
    """
    known = [reward for reward in rewards if reward is not None]
    if len(known) < 2:
        return GroupOutcome("masked", known[0] if known else None, (None,) * len(rewards))
    mean = sum(known) / len(known)
    if max(known) - min(known) < FLAT:
        zeros = tuple(None if reward is None else 0.0 for reward in rewards)
        return GroupOutcome("all_pass" if mean >= 0.5 else "all_fail", mean, zeros)
    return GroupOutcome("mixed", mean, tuple(None if reward is None else reward - mean for reward in rewards))
