"""The draw of an update: each task once per epoch, or by the sampler; a run repeats, and canaries come now and then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from appliance.draw import Asked, Memory, draw_adaptive, draw_shuffled
from appliance.nouns import Task
from appliance.recipe import GrpoSettings, ModelSettings, Recipe
from appliance.sampler.choices import Score

RECIPE = Recipe("r", model=ModelSettings("starter"), grpo=GrpoSettings(attempts_per_task=8))


def task(name: str, tier: str = "easy", split: str = "train") -> Task:
    return Task(f"p/{name}", "p", "function", split, tier, name, "/", "", "", name, "h", "h", "h")


TASKS = [task(f"t{number}") for number in range(10)]


def shuffled(seed: int, asked: Asked) -> Sequence[str]:
    return [found.key for found in draw_shuffled(TASKS, seed, asked)]


def adaptive(seed: int, asked: Asked) -> Sequence[str]:
    recipe = Recipe("r", seed=seed, model=ModelSettings("starter"))
    return [choice.task_key for choice in draw_adaptive(TASKS, [], [], recipe, asked)]


def test_a_shuffled_draw_takes_every_task_once_per_epoch() -> None:
    drawn = [key for step in range(1, 6) for key in shuffled(0, Asked(step, 2))]
    assert sorted(drawn) == sorted(found.key for found in TASKS)


@pytest.mark.parametrize("draw", [shuffled, adaptive])
def test_a_draw_changes_with_the_seed_and_repeats_without(
    draw: Callable[[int, Asked], Sequence[str]],
) -> None:
    draws = [tuple(draw(seed, Asked(1, 5))) for seed in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 1


@pytest.mark.parametrize("draw", [shuffled, adaptive])
def test_later_draws_of_an_update_take_what_is_left(draw: Callable[[int, Asked], Sequence[str]]) -> None:
    first = draw(0, Asked(1, 4))
    second = draw(0, Asked(1, 3, 2, tuple(first)))
    third = draw(0, Asked(1, 3, 3, (*first, *second)))
    assert sorted([*first, *second, *third]) == sorted(found.key for found in TASKS)


def test_over_many_updates_the_attempts_go_where_they_teach() -> None:
    """A policy that passes half of the easy tasks and none of the hard ones."""
    tasks = [*TASKS, *(task(f"h{number}", "hard") for number in range(10))]
    past: list[Score] = []
    drawn: Counter[str] = Counter()
    for step in range(1, 91):
        for choice in draw_adaptive(tasks, [], past, RECIPE, Asked(step, 4)):
            easy = choice.task_key.startswith("p/t")
            past.append(Score(choice.task_key, step, 4 if easy else 0, 8))
            drawn["easy" if easy else "hard"] += 1
    assert drawn["hard"] > 0
    assert drawn["easy"] > 2 * drawn["hard"]


def test_what_is_dear_is_drawn_less() -> None:
    tasks = [task(f"t{number}") for number in range(40)]
    past = [Score(one.key, 1, 4, 8, cost=300.0 if place % 2 else 30.0) for place, one in enumerate(tasks)]
    drawn = Counter(
        int(choice.task_key[3:]) % 2
        for step in range(2, 42)
        for choice in draw_adaptive(tasks, [], past, RECIPE, Asked(step, 8))
    )
    assert drawn[0] > 1.5 * drawn[1]


def test_canaries_get_a_hundredth_of_the_slots() -> None:
    canaries = [task("c0", split="canary"), task("c1", split="canary")]
    tasks = [task(f"t{number}") for number in range(40)]
    shares = Counter(
        choice.share
        for step in range(1, 201)
        for choice in draw_adaptive(tasks, canaries, [], RECIPE, Asked(step, 8))
    )
    assert 8 <= shares["canary"] <= 24
    assert shares.total() == 200 * 8


def test_a_memory_changes_no_draw() -> None:
    """Neither what was kept from earlier draws, nor tasks that went out of use in between."""
    memory, past = Memory(), list[Score]()
    for step in range(1, 12):
        tasks = TASKS if step < 6 else TASKS[1:]
        since = memory.since(tasks)
        new = [score for score in past if score.step > since]
        with_it = draw_adaptive(tasks, [], new, RECIPE, Asked(step, 3), memory)
        assert with_it == draw_adaptive(tasks, [], past, RECIPE, Asked(step, 3))
        past += [Score(choice.task_key, step, step % 9, 8) for choice in with_it]
    assert memory.since(TASKS[1:]) == 10 and memory.since(TASKS) == 0
