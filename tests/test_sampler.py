"""The sampler: posteriors against exact values, tiers that do not flutter, shares that are held, equal draws."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from appliance.bench.sampler import measure
from appliance.sampler.beta import cdf, quantile
from appliance.sampler.choices import Score
from appliance.sampler.draw import Wish, draw
from appliance.sampler.roster import Roster, make_roster
from appliance.sampler.simulation import make_world, run_course
from appliance.sampler.state import State, fresh, observe, posterior, rebuilt
from appliance.sampler.tiers import TIERS, interval


def roster(count: int = 40, family: int = 2, label: str = "core") -> Roster:
    return make_roster((f"p/t{n:03}", f"f{n // family:03}", label) for n in range(count))


def tried(known: Roster, rates: dict[str, float], updates: int, attempts: int = 8) -> State:
    """Each task tried once an update, with the pass rate that stands for it."""
    state = fresh(known)
    for step in range(1, updates + 1):
        scores = [Score(key, step, round(rate * attempts), attempts) for key, rate in rates.items()]
        state = observe(known, state, step, scores)
    return state


def test_the_beta_distribution_is_the_binomial_sum() -> None:
    """I_x(a, b) for whole a and b is a tail of the binomial distribution."""
    for a, b, x in ((1, 1, 0.3), (2, 5, 0.2), (9, 3, 0.9), (40, 60, 0.41)):
        n = a + b - 1
        exact = sum(math.comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1))
        assert float(cdf(x, np.array(float(a)), np.array(float(b)))) == pytest.approx(exact, abs=1e-9)
        found = quantile(exact, np.array([float(a)]), np.array([float(b)]))
        assert float(found[0]) == pytest.approx(x, abs=1e-6)


def test_evidence_moves_the_mean_and_fades() -> None:
    known = roster(4, family=1)
    state = tried(known, {"p/t000": 1.0, "p/t001": 0.0}, updates=6)
    a, b = posterior(known, state)
    means = a / (a + b)
    assert means[0] > 0.9 and means[1] < 0.1 and means[2] == pytest.approx(0.5)
    for step in range(7, 12):
        state = observe(known, state, step, [Score("p/t000", step, 0, 8)])
    a, b = posterior(known, state)
    assert (a / (a + b))[0] < 0.5


def test_a_variant_that_was_never_tried_is_guessed_by_its_family() -> None:
    known = roster(6, family=3)
    state = tried(known, {"p/t000": 0.0, "p/t001": 0.0}, updates=5)
    a, b = posterior(known, state)
    means = a / (a + b)
    assert means[2] < 0.3 < means[5]


def test_a_tier_needs_two_groups_and_an_interval_inside_it() -> None:
    known = roster(3, family=1)
    once = tried(known, {"p/t000": 1.0}, updates=1, attempts=64)
    assert TIERS[once.tier[0]] == "core"
    often = tried(known, {"p/t000": 1.0, "p/t001": 0.0, "p/t002": 0.5}, updates=8, attempts=32)
    assert [TIERS[tier] for tier in often.tier] == ["mastered", "dormant", "core"]
    low, high = interval(*posterior(known, often))
    assert low[0] > 0.95 and high[1] < 0.05


def test_a_task_does_not_stay_in_a_tier_that_its_interval_has_left() -> None:
    known = roster(1, family=1, label="easy")
    state = tried(known, {"p/t000": 0.15}, updates=5, attempts=13)
    low, high = interval(*posterior(known, state))
    assert low[0] < 0.25 and high[0] < 0.75
    assert TIERS[state.tier[0]] in ("hard", "core")


def test_luck_at_a_border_does_not_move_a_task_to_and_fro() -> None:
    known, source = roster(1, family=1), np.random.default_rng(0)
    state, seen = fresh(known), []
    for step in range(1, 60):
        state = observe(known, state, step, [Score("p/t000", step, int(source.binomial(8, 0.75)), 8)])
        seen.append(int(state.tier[0]))
    assert sum(one != other for one, other in itertools.pairwise(seen)) <= 3


def test_equal_evidence_and_seed_draw_alike_and_records_rebuild_the_state() -> None:
    known = roster()
    scores = [Score(f"p/t{n:03}", step, n % 9, 8) for step in (1, 2, 3) for n in range(step, 40, 5)]
    state = rebuilt(known, scores)
    again = rebuilt(known, list(reversed(scores)))
    wish = Wish(seed=3, step=4, count=10, group=8)
    assert draw(known, state, wish) == draw(known, again, wish)
    assert draw(known, state, wish) != draw(known, state, Wish(4, 4, 10, 8))


def test_a_batch_has_no_task_twice_and_no_family_too_often() -> None:
    known = make_roster((f"p/t{n:03}", f"f{n // 20:03}", "core") for n in range(400))
    state = fresh(known)
    for step in range(1, 20):
        drawn = draw(known, state, Wish(0, step, 40, 8))
        keys = [choice.task_key for choice in drawn]
        assert len(set(keys)) == len(keys) == 40
        families = Counter(known.families[known.family[known.places[key]]] for key in keys)
        assert max(families.values()) <= 4
        assert all(0 < choice.probability < 1 for choice in drawn)


def test_shares_and_floors_are_held() -> None:
    """Of 40 tasks half are mastered and a tenth dormant: neither starves, a tenth of all slots is uniform."""
    known = roster(40, family=1)
    rates = {key: (1.0 if n < 20 else 0.0 if n < 24 else 0.5) for n, key in enumerate(known.keys)}
    state = tried(known, rates, updates=8, attempts=32)
    drawn = [choice for step in range(10, 210) for choice in draw(known, state, Wish(1, step, 10, 8))]
    shares = Counter(choice.share for choice in drawn)
    tiers = Counter(choice.tier for choice in drawn)
    assert shares["uniform"] / len(drawn) == pytest.approx(0.10, abs=0.01)
    assert shares["staleness"] / len(drawn) == pytest.approx(0.10, abs=0.01)
    assert tiers["mastered"] / len(drawn) >= 0.04 and tiers["dormant"] / len(drawn) >= 0.04
    assert tiers["core"] / len(drawn) > 0.6


def test_canaries_get_their_hundredth_and_no_evidence() -> None:
    known = roster()
    drawn = [
        choice
        for step in range(1, 101)
        for choice in draw(known, fresh(known), Wish(0, step, 20, 8, canaries=("c/one", "c/two")))
    ]
    canaries = [choice for choice in drawn if choice.share == "canary"]
    assert 10 <= len(canaries) <= 30 and all(choice.mean is None for choice in canaries)


def test_in_simulation_the_draw_saves_attempts_and_starves_nobody() -> None:
    spent = dict.fromkeys(("uniform", "odds"), 0)
    for seed in range(8):
        world = make_world("mixed", seed, tasks=200)
        for way in spent:
            course = run_course(world, way, seed)
            assert course.reached
            spent[way] += course.attempts
            assert way == "uniform" or max(course.gaps.values()) <= 10
    assert spent["odds"] < spent["uniform"]


def test_a_large_roster_can_be_drawn_from() -> None:
    found = measure(2000)
    assert found["tasks"] == 2000 and found["peak_mib"] < 50
