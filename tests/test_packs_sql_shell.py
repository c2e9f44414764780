"""The packs `sql` and `shell`: what they hold, and a few of their tasks through the real judge."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.judge import Judge
from appliance.kinds import load_kind
from appliance.nouns import Task
from appliance.paths import from_environment
from appliance.tasks import load_pack, shipped_packs
from appliance.yard import Yard

PACKS = {name: load_pack(shipped_packs()[name]) for name in ("sql", "shell")}
TASKS = {task.key: task for tasks in PACKS.values() for task in tasks}
WRONG = {
    "sql/idle_machines": """
        SELECT id, name FROM machines WHERE id NOT IN (SELECT machine_id FROM bookings WHERE day LIKE '2024-03-%');
    """,
    "sql/three_tallest": """
        SELECT id, species, height FROM trees WHERE height IS NOT NULL ORDER BY height DESC LIMIT 3;
    """,
    "sql/podium": """
        SELECT race, place, runner FROM (
            SELECT race, runner, dense_rank() OVER (PARTITION BY race ORDER BY seconds) AS place
            FROM results WHERE seconds IS NOT NULL
        ) WHERE place <= 3;
    """,
    "sql/apply_prices": """
        INSERT OR REPLACE INTO articles (code, cents) SELECT code, cents FROM incoming WHERE cents IS NOT NULL;
        DELETE FROM incoming;
    """,
    "sql/state_column": """
        ALTER TABLE orders ADD COLUMN state TEXT DEFAULT 'open';
        UPDATE orders SET state = 'paid' WHERE paid_on IS NOT NULL;
    """,
    "shell/rename_htm": 'for file in *.htm; do mv -n "$file" "${file%.htm}.html"; done',
    "shell/unique_lines": 'find . -name \'*.txt\' | while read -r file; do sort -u -o "$file" "$file"; done',
    "shell/set_option": 'sed -i "s/^$1=.*/$1=$2/" app.conf; grep -q "^$1=" app.conf || echo "$1=$2" >> app.conf',
    "shell/prune_empty": "find . -empty -delete",
}
"""Answers that look right and miss one thing that the statement says."""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Yard(from_environment(os.environ), warm=True) as yard:
        yield Judge(yard)


def reward(judge: Judge, task: Task, body: bytes) -> float:
    name = load_kind(task.kind).lone(task)
    return judge.judge(task, {name: body}, seed=11).reward


def alternatives(task: Task) -> list[Path]:
    return sorted(Path(task.folder).glob(f"solution/alternatives/*/{load_kind(task.kind).lone(task)}"))


def test_the_packs_hold_tasks_of_their_kind_of_every_tier_in_both_splits() -> None:
    assert {name: len(tasks) for name, tasks in PACKS.items()} == {"sql": 28, "shell": 18}
    for name, tasks in PACKS.items():
        assert {task.kind for task in tasks} == {name}
        splits, tiers = Counter(task.split for task in tasks), Counter(task.tier for task in tasks)
        assert splits.keys() == {"train", "eval"}
        assert 0.6 <= splits["train"] / len(tasks) <= 0.8
        assert min(tiers[tier] for tier in ("easy", "core", "hard")) >= 4


def test_a_cluster_lies_in_one_split() -> None:
    found = defaultdict(set)
    for task in TASKS.values():
        found[task.cluster].add(task.split)
    assert [cluster for cluster, splits in found.items() if len(splits) > 1] == []


def test_every_task_has_another_solution_that_is_written_differently() -> None:
    for task in TASKS.values():
        gold = next(iter(load_kind(task.kind).controls(task)["gold"][0].values()))
        found = alternatives(task)
        assert found, task.key
        assert all(path.read_bytes().split() != gold.split() for path in found), task.key


@pytest.mark.parametrize("key", WRONG)
def test_gold_and_alternatives_pass_and_what_misses_one_thing_does_not(key: str, judge: Judge) -> None:
    task = TASKS[key]
    for name, (artefacts, wanted) in load_kind(task.kind).controls(task).items():
        assert judge.judge(task, artefacts, seed=11).reward == wanted, name
    for path in alternatives(task):
        assert reward(judge, task, path.read_bytes()) == 1, path
    assert reward(judge, task, WRONG[key].encode()) == 0
