"""Trying tasks: which ones an update tries, and the batches of attempts that are made and judged of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from appliance import agent, docket
from appliance.advantage import GroupOutcome, judge_group
from appliance.draw import Asked, Memory, draw_adaptive, draw_shuffled
from appliance.errors import ConfigError
from appliance.journal import Journal
from appliance.nouns import Card, Purpose, Sampling
from appliance.orders import Batch, place_orders
from appliance.plan import Crew, Plan, Rolled
from appliance.pool.states import barred_since
from appliance.sampler.choices import Score

Rows = dict[str, list[dict[str, Any]]]
"""Attempts in order of index, by the id of their group."""


@dataclass(frozen=True, slots=True)
class Explored:
    """What the train groups of an update came to."""

    rows: Rows = field(default_factory=dict)
    outcomes: Mapping[str, GroupOutcome] = field(default_factory=dict)
    """By the id of the group."""
    rolled: Rolled = field(default_factory=Rolled)

    def __add__(self, other: Explored) -> Explored:
        return Explored(
            {**self.rows, **other.rows}, {**self.outcomes, **other.outcomes}, self.rolled + other.rolled
        )


class Explorer:
    """Tries the tasks of a run's updates. What the last draw worked out of the evidence is kept for the next."""

    def __init__(self, plan: Plan, crew: Crew, journal: Journal) -> None:
        self._plan, self._crew, self._journal = plan, crew, journal
        self._memory = Memory()

    def explore(self, step: int) -> Explored:
        """Try the tasks of an update, and draw anew for what is dead while draws are left.

        It never fails for want of live groups: what is missing then is missing (as opposed to DAPO, arXiv
        2503.14476, whose implementations give up after so many batches). ConfigError when no task is left in use.
        """
        settings, found, taken, stock = self._plan.recipe.grpo, Explored(), list[str](), self._stock()
        self._journal.event("update.started", step=step, updates=settings.updates)
        for number in range(1, 2 + settings.dynamic):
            missing = settings.tasks_per_update - sum(outcome.teaches for outcome in found.outcomes.values())
            count = min(missing, len(stock) - len(taken))
            if not count:
                break
            tasks, canaries = self._draw(stock, Asked(step, count, number, tuple(taken)))
            taken += [task.key for task in tasks]
            self._try("canary", step, number, canaries)
            found += self._try("train", step, number, tasks)
        return found

    def _stock(self) -> Sequence[Card]:
        """The train tasks that nobody, and no alarm, took out of use since the run began."""
        barred = barred_since(self._journal.store)
        tasks = self._plan.train_tasks
        stock = [task for task in tasks if task.key not in barred] if barred else tasks
        if not stock:
            remedy = "appliance task history KEY says why"
            raise ConfigError("every train task of the run was quarantined or retired", remedy=remedy)
        return stock

    def _draw(self, stock: Sequence[Card], asked: Asked) -> tuple[list[Card], list[Card]]:
        """The train tasks and the canaries of a draw.

        Only train groups are evidence: what is held out must not steer the training, and a canary teaches nothing.
        """
        plan, journal, recipe = self._plan, self._journal, self._plan.recipe
        if recipe.tasks.draw == "shuffled":
            return draw_shuffled(stock, recipe.seed, asked), []
        past = [
            Score(*row)
            for row in journal.store.train_scores(plan.run_id, asked.step, self._memory.since(stock))
        ]
        canaries = plan.canaries if asked.number == 1 else ()
        choices = draw_adaptive(stock, canaries, past, recipe, asked, self._memory)
        told = [asdict(choice) for choice in choices]
        journal.event("tasks.drawn", step=asked.step, number=asked.number, choices=told)
        drawn = [plan.library.cards[choice.task_key] for choice in choices]
        return [card for card in drawn if card.split != "canary"], [
            card for card in drawn if card.split == "canary"
        ]

    def _try(self, purpose: Purpose, step: int, number: int, tasks: Sequence[Card]) -> Explored:
        """Make, judge and close one group per task."""
        if not tasks:
            return Explored()
        batch = replace(batch_of(self._plan, step, step - 1, purpose), number=number)
        rows, rolled = roll(self._plan, self._crew, self._journal, batch, tasks)
        outcomes = {group: judge_group([row["reward"] for row in members]) for group, members in rows.items()}
        for group, outcome in outcomes.items():
            self._journal.store.close_group(group, outcome.state, outcome.mean)
        return Explored(rows, outcomes, rolled)


def batch_of(plan: Plan, step: int, trained: int, purpose: Purpose) -> Batch:
    """`trained` is how many updates the policy that samples has had."""
    recipe = plan.recipe
    held_out = purpose == "eval"
    temperature = recipe.evaluation.temperature if held_out else recipe.sampling.temperature
    attempts = recipe.evaluation.attempts if held_out else recipe.grpo.attempts_per_task
    sampling = Sampling(temperature, recipe.sampling.max_tokens, agent.stops_of(recipe.sampling.harness))
    version = plan.version(trained)
    harness = recipe.sampling.harness
    return Batch(plan.run_id, recipe.seed, step, purpose, version, harness, sampling, attempts)


def roll(
    plan: Plan, crew: Crew, journal: Journal, batch: Batch, tasks: Sequence[Card]
) -> tuple[Rows, Rolled]:
    """Make and judge a batch; return its rows by group, in order of index."""
    plan.library.check(tasks)
    orders = place_orders(batch, tasks)
    common = {"run_id": plan.run_id, "step": batch.step, "purpose": batch.purpose}
    version = {"policy_version": batch.policy_version}
    groups = [common | version | {"id": batch.group_id(task), "task_key": task.key} for task in tasks]
    journal.store.add_groups(groups)
    tell_stage(journal, plan, crew, batch.step, "sample")
    rolled = crew.roll(orders)
    # The queue of the reviewers grows with the verdicts, so that the screens show it while the run goes.
    docket.fill(journal.store, journal.clock())
    outcomes = journal.store.outcomes(plan.run_id, batch.step, batch.purpose)
    rows: Rows = {batch.group_id(task): [] for task in tasks}
    for order in orders:
        rows[order.group_id].append(outcomes[order.attempt_id])
    return rows, rolled


def tell_stage(journal: Journal, plan: Plan, crew: Crew, step: int, stage: str) -> None:
    crew.check_stop()
    journal.event("stage", step=step, stage=stage)
    journal.live(stage=stage, step=step, updates=plan.recipe.grpo.updates)
