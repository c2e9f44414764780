"""The packs `stdio` and `repair`: every task has its controls and a second solution, through the real judge."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.judge import Judge
from appliance.kinds import load_kind
from appliance.nouns import Task
from appliance.paths import from_environment
from appliance.tasks import load_pack, shipped_packs
from appliance.yard import Yard

TASKS = {task.key: task for name in ("stdio", "repair") for task in load_pack(shipped_packs()[name])}
WRONG = {
    "repair/merge_spans": ("first <= merged[-1][1]", "first < merged[-1][1]"),
    "repair/rank_players": ("(-scores[name], name)", "-scores[name]"),
    "repair/windows_above": ("> limit", ">= limit"),
    "stdio/island_sizes": ("(y, x + 1)", "(y + 1, x + 1)"),
    "stdio/queue_at_counter": ("max(arrival, free)", "free"),
}
"""A change to the gold that makes it miss one thing that the statement says."""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Yard(from_environment(os.environ), warm=True) as yard:
        yield Judge(yard)


def gold(task: Task) -> str:
    return (Path(task.folder) / "solution" / "solution.py").read_text()


def reward(judge: Judge, task: Task, body: str) -> float:
    return judge.judge(task, {"solution.py": body.encode()}, seed=5).reward


def test_a_cluster_lies_in_one_split() -> None:
    splits = defaultdict(set)
    for task in TASKS.values():
        splits[task.cluster].add(task.split)
    assert all(len(found) == 1 for found in splits.values())


def test_every_task_has_a_wrong_answer() -> None:
    assert sorted(WRONG) == sorted(TASKS)


@pytest.mark.parametrize("key", sorted(TASKS))
def test_the_controls_get_their_rewards(judge: Judge, key: str) -> None:
    task = TASKS[key]
    for name, (files, wanted) in load_kind(task.kind).controls(task).items():
        assert judge.judge(task, files, seed=5).reward == wanted, name


@pytest.mark.parametrize("key", sorted(TASKS))
def test_another_solution_passes_and_a_near_miss_fails(judge: Judge, key: str) -> None:
    task = TASKS[key]
    others = sorted(Path(task.folder).glob("solution/alternatives/*/solution.py"))
    assert others
    assert all(reward(judge, task, path.read_text()) == 1.0 for path in others)
    right, wrong = WRONG[key]
    assert gold(task).count(right) == 1
    assert reward(judge, task, gold(task).replace(right, wrong)) == 0.0
