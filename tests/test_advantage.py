"""From rewards to advantages."""

from __future__ import annotations

import pytest

from appliance.advantage import judge_group


def test_a_mixed_group_is_centred_on_its_mean() -> None:
    outcome = judge_group([1.0, 0.0, 0.0, 0.0])
    assert outcome.state == "mixed"
    assert outcome.advantages == (0.75, -0.25, -0.25, -0.25)
    assert sum(outcome.advantages) == pytest.approx(0.0)


@pytest.mark.parametrize(("rewards", "state"), [([1.0] * 4, "all_pass"), ([0.0] * 4, "all_fail")])
def test_an_all_equal_group_teaches_nothing(rewards: list[float | None], state: str) -> None:
    outcome = judge_group(rewards)
    assert outcome.state == state
    assert not outcome.teaches
    assert outcome.advantages == (0.0,) * 4


def test_a_masked_attempt_leaves_the_baseline() -> None:
    outcome = judge_group([1.0, None, 0.0])
    assert outcome.mean == 0.5
    assert outcome.advantages == (0.5, None, -0.5)


@pytest.mark.parametrize("rewards", [[None, None], [None, 1.0], []])
def test_fewer_than_two_known_rewards_say_nothing(rewards: list[float | None]) -> None:
    outcome = judge_group(rewards)
    assert outcome.state == "masked"
    assert not outcome.teaches


def test_a_range_below_the_quantum_is_flat() -> None:
    assert judge_group([0.95, 0.96, 0.95]).state == "all_pass"
