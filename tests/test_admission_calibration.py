"""V13: the tier of a pass rate, and what is said when there are too few attempts or no pass at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from function_tasks import task as made

from appliance.admission import calibration

CASES: dict[str, Any] = {"public": [{"args": [0], "expected": 0}], "cases": [{"args": [1], "expected": 1}]}


@pytest.mark.parametrize(
    ("passes", "attempts", "tier"),
    [
        (0, 8, "hard"),
        (0, 64, "dormant"),
        (0, 40, "hard"),
        (1, 8, "hard"),
        (4, 16, "core"),
        (12, 16, "core"),
        (13, 16, "easy"),
        (16, 16, "easy"),
        (64, 64, "mastered"),
    ],
)
def test_the_interval_decides_the_ends_and_the_mean_the_rest(passes: int, attempts: int, tier: str) -> None:
    assert calibration.tier_of(passes, attempts) == tier


def test_the_interval_is_that_of_the_beta_distribution() -> None:
    # Beta(1, b) has the closed form 1 - (1 - q)^(1/b); Beta(a, 1) has q^(1/a).
    low, high = calibration.interval(0, 9)
    assert (low, high) == pytest.approx((1 - 0.95 ** (1 / 10), 1 - 0.05 ** (1 / 10)))
    assert calibration.interval(9, 9) == pytest.approx((0.05 ** (1 / 10), 0.95 ** (1 / 10)))
    low, high = calibration.interval(4, 8)
    assert low == pytest.approx(1 - high)


def test_too_few_attempts_are_no_calibration_and_none_of_64_wants_a_look(tmp_path: Path) -> None:
    task = made(tmp_path / "one", "def solve(n):\n    return n\n", **CASES)
    few = calibration.check(task, 3, 15)
    assert few.state == "not_run" and few.remedy.startswith("appliance eval ")
    good = calibration.check(task, 4, 16)
    assert (good.state, good.measured["tier"]) == ("passed", "core")
    assert calibration.check(task, 0, 63).state == "passed"
    none = calibration.check(task, 0, 64)
    assert none.state == "failed" and "possibly impossible" in none.reason
