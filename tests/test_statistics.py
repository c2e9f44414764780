"""Pass rates and paired intervals, against answers known by other means."""

from __future__ import annotations

import itertools
import math

import pytest

from appliance.statistics import Change, paired_bootstrap, paired_change, pass_rates, quantile


def test_pass_rate_leaves_out_tasks_without_a_judged_attempt() -> None:
    tallies = {
        "a": {"n": 8, "c": 2, "tier": "easy"},
        "b": {"n": 4, "c": 4, "tier": "core"},
        "c": {"n": 0, "c": 0, "tier": "hard"},
    }
    assert pass_rates(tallies) == {"a": 0.25, "b": 1.0}


def test_a_constant_difference_has_no_width() -> None:
    assert paired_bootstrap([0.25] * 7, seed=1) == (0.25, 0.25)


def test_one_task_gives_its_own_difference() -> None:
    assert paired_bootstrap([-0.5], seed=1) == (-0.5, -0.5)


def test_same_seed_same_interval() -> None:
    values = [0.1, 0.4, -0.2, 0.0, 0.3]
    assert paired_bootstrap(values, seed=3) == paired_bootstrap(values, seed=3)
    assert paired_bootstrap(values, seed=3, draws=100) != paired_bootstrap(values, seed=4, draws=100)


def test_interval_agrees_with_every_resample_enumerated() -> None:
    """With five tasks all 3125 resamples can be listed; the drawn percentiles must lie at theirs."""
    values = [0.0, 0.125, 0.5, -0.25, 0.875]
    means = sorted(math.fsum(chosen) / 5 for chosen in itertools.product(values, repeat=5))
    low, high = paired_bootstrap(values, seed=0, draws=20_000)
    assert low == pytest.approx(quantile(means, 0.025), abs=0.025)
    assert high == pytest.approx(quantile(means, 0.975), abs=0.025)
    narrow_low, narrow_high = paired_bootstrap(values, seed=0, draws=20_000, level=0.5)
    assert narrow_low == pytest.approx(quantile(means, 0.25), abs=0.025)
    assert narrow_high == pytest.approx(quantile(means, 0.75), abs=0.025)


def test_interval_agrees_with_the_normal_one_for_many_tasks() -> None:
    """For many alike tasks the bootstrap interval nears mean ± 1.96 standard errors."""
    values = [place / 399 for place in range(400)]
    low, high = paired_bootstrap(values, seed=0, draws=4_000)
    error = math.sqrt(sum((value - 0.5) ** 2 for value in values) / 400) / math.sqrt(400)
    assert low == pytest.approx(0.5 - 1.96 * error, abs=0.003)
    assert high == pytest.approx(0.5 + 1.96 * error, abs=0.003)


def test_change_pairs_tasks_by_key_and_drops_the_rest() -> None:
    change = paired_change({"a": 0.0, "b": 0.5, "gone": 1.0}, {"b": 1.0, "a": 0.5, "new": 0.0}, seed=0)
    assert change == Change(tasks=2, before=0.25, after=0.75, low=0.5, high=0.5)
    assert change.change == 0.5


def test_pairing_matters() -> None:
    """The same rates dealt to other tasks: same means, wider interval."""
    before = {str(place): place / 10 for place in range(10)}
    paired = paired_change(before, {key: rate + 0.1 for key, rate in before.items()}, seed=0)
    shuffled = paired_change(before, {str(9 - place): place / 10 + 0.1 for place in range(10)}, seed=0)
    assert paired is not None
    assert shuffled is not None
    assert paired.change == pytest.approx(shuffled.change)
    assert paired.high - paired.low < 1e-9 < shuffled.high - shuffled.low


def test_no_common_task_is_no_change() -> None:
    assert paired_change({"a": 1.0}, {"b": 1.0}, seed=0) is None


@pytest.mark.parametrize(("share", "wanted"), [(0.0, 1.0), (1.0, 4.0), (0.5, 2.5), (0.25, 1.75)])
def test_quantile_is_linear_between_neighbours(share: float, wanted: float) -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], share) == pytest.approx(wanted)
