"""Which tasks an update tries: by the sampler, or each once per epoch. Equal evidence and seed, equal draw."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from appliance.nouns import Task
from appliance.orders import derive_seed
from appliance.recipe import Recipe
from appliance.sampler.choices import Choice, Score


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of a draw: `count` tasks for update `step` (from 1).

    `number` counts the draws of one update, from 1; `taken` are the keys that the earlier ones drew.
    """

    step: int
    count: int
    number: int = 1
    taken: Collection[str] = ()


def draw_shuffled(tasks: Sequence[Task], seed: int, asked: Asked) -> list[Task]:
    """Windows over a fresh shuffle per epoch, so none starves; a later draw of an update is at random."""
    if asked.number > 1:
        left = [task for task in tasks if task.key not in asked.taken]
        return random.Random(derive_seed(seed, "tasks", asked.step, asked.number)).sample(left, asked.count)
    windows = len(tasks) // asked.count
    epoch, window = divmod(asked.step - 1, windows)
    shuffled = list(tasks)
    random.Random(derive_seed(seed, "tasks", epoch)).shuffle(shuffled)
    return shuffled[window * asked.count : (window + 1) * asked.count]


def draw_adaptive(
    tasks: Sequence[Task], canaries: Sequence[Task], past: Sequence[Score], recipe: Recipe, asked: Asked
) -> list[Choice]:
    """By tiers and shares, given what came before (see `appliance.sampler`)."""
    from appliance.sampler import draw as sampler
    from appliance.sampler.roster import make_roster
    from appliance.sampler.state import rebuilt

    known = make_roster((task.key, task.family, task.tier) for task in tasks)
    wish = sampler.Wish(
        recipe.seed,
        asked.step,
        asked.count,
        recipe.grpo.attempts_per_task,
        number=asked.number,
        taken=asked.taken,
        canaries=sorted(task.key for task in canaries),
    )
    return sampler.draw(known, rebuilt(known, past), wish)
