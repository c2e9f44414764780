"""The draw: what the policy can partly do comes up most, everything comes up sometimes, and a run repeats."""

from __future__ import annotations

from collections import Counter

import pytest

from appliance.draw import FLOOR, Score, draw_learnable, draw_shuffled, learnability
from appliance.nouns import Task


def task(name: str, tier: str = "easy") -> Task:
    return Task(f"p/{name}", "p", "function", "train", tier, name, "/", "", "", name, "h", "h", "h")


TASKS = [task(f"t{number}") for number in range(10)]


def scores(step: int, passes: dict[str, int], attempts: int = 8) -> list[Score]:
    return [Score(f"p/{name}", step, count, attempts) for name, count in passes.items()]


def test_a_shuffled_draw_takes_every_task_once_per_epoch() -> None:
    drawn = [found.key for step in range(1, 6) for found in draw_shuffled(TASKS, seed=0, step=step, count=2)]
    assert sorted(drawn) == sorted(found.key for found in TASKS)


@pytest.mark.parametrize("draw", [draw_shuffled, lambda *rest: draw_learnable(rest[0], [], *rest[1:])])
def test_a_draw_changes_with_the_seed_and_repeats_without(draw: object) -> None:
    assert callable(draw)
    draws = [tuple(t.key for t in draw(TASKS, seed, 1, 5)) for seed in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 1


def test_a_learnable_draw_has_no_task_twice() -> None:
    drawn = draw_learnable(TASKS, scores(1, {"t0": 4}), seed=3, step=2, count=10)
    assert sorted(found.key for found in drawn) == sorted(found.key for found in TASKS)


def test_an_undecided_task_weighs_more_than_a_lost_or_a_solved_one() -> None:
    weights = learnability(TASKS, scores(1, {"t0": 0, "t1": 4, "t2": 8}), step=2)
    assert weights["p/t1"] > weights["p/t3"] > weights["p/t0"]
    assert weights["p/t1"] > weights["p/t2"]


def test_a_tier_lends_its_rate_to_tasks_that_were_never_tried() -> None:
    tasks = [*TASKS, *(task(f"h{number}", "hard") for number in range(10))]
    past = scores(1, {"t0": 4, "t1": 5, "h0": 0, "h1": 0, "h2": 0})
    weights = learnability(tasks, past, step=2)
    assert weights["p/t9"] > 2 * weights["p/h9"]


def test_old_evidence_fades_and_no_task_is_out_of_reach() -> None:
    tasks = [task("t0"), *(task(f"h{number}", "hard") for number in range(3))]
    past = scores(1, {"t0": 0, "h0": 0, "h1": 0}, attempts=64)
    fresh, stale = learnability(tasks, past, step=2), learnability(tasks, past, step=40)
    assert fresh["p/t0"] == FLOOR < stale["p/t0"]


def test_over_many_updates_the_attempts_go_where_they_teach() -> None:
    """A policy that passes half of the easy tasks and none of the hard ones."""
    tasks = [*TASKS, *(task(f"h{number}", "hard") for number in range(10))]
    past: list[Score] = []
    drawn: Counter[str] = Counter()
    for step in range(1, 31):
        for found in draw_learnable(tasks, past, seed=0, step=step, count=4):
            past.append(Score(found.key, step, 4 if found.tier == "easy" else 0, 8))
            drawn[found.tier] += 1
    assert drawn["hard"] > 0
    assert drawn["easy"] > 3 * drawn["hard"]
