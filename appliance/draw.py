"""Which tasks an update tries: by the sampler, or each once per epoch. Equal evidence and seed, equal draw."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.nouns import Card
from appliance.orders import derive_seed
from appliance.recipe import Recipe
from appliance.sampler.choices import Choice, Score

if TYPE_CHECKING:
    from appliance.sampler.roster import Roster
    from appliance.sampler.state import State


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of a draw: `count` tasks for update `step` (from 1).

    `number` counts the draws of one update, from 1; `taken` are the keys that the earlier ones drew.
    """

    step: int
    count: int
    number: int = 1
    taken: Collection[str] = ()


class Memory:
    """The roster and the state that the last draw worked out: of 100,000 tasks both take longer than a draw."""

    def __init__(self) -> None:
        self._tasks: Sequence[Card] = ()
        self._roster: Roster | None = None
        self._state: State | None = None

    def since(self, tasks: Sequence[Card]) -> int:
        """The update up to which nothing need be told again; 0 for other tasks than at the last draw."""
        return self._state.step if self._state and len(tasks) == len(self._tasks) else 0

    def after(self, tasks: Sequence[Card], past: Sequence[Score]) -> tuple[Roster, State]:
        """The roster of `tasks` and the state after `past`, of which what is known already may be left out."""
        from appliance.sampler.roster import make_roster
        from appliance.sampler.state import rebuilt

        if self._roster is None or len(tasks) != len(self._tasks):
            self._roster = make_roster((task.key, task.family, task.tier) for task in tasks)
            self._tasks, self._state = tasks, None
        self._state = rebuilt(self._roster, past, self._state)
        return self._roster, self._state


def draw_shuffled(tasks: Sequence[Card], seed: int, asked: Asked) -> list[Card]:
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
    tasks: Sequence[Card],
    canaries: Sequence[Card],
    past: Sequence[Score],
    recipe: Recipe,
    asked: Asked,
    memory: Memory | None = None,
) -> list[Choice]:
    """By tiers and shares, given what came before (see `appliance.sampler`). `memory` only saves time."""
    from appliance.sampler import draw as sampler

    known, state = (memory or Memory()).after(tasks, past)
    wish = sampler.Wish(
        recipe.seed,
        asked.step,
        asked.count,
        recipe.grpo.attempts_per_task,
        number=asked.number,
        taken=asked.taken,
        canaries=sorted(task.key for task in canaries),
    )
    return sampler.draw(known, state, wish)
