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
    "repair/assign_rooms": ("busy <= start", "busy < start"),
    "repair/change_due": ("if amount:", "if amount > 1:"),
    "repair/expand_ranges": ("last or first", "last or 0"),
    "repair/first_repeated": ("value in seen", "value in seen and value"),
    "repair/grade_average": ("+ len(marks)", ""),
    "repair/merge_settings": ("merged.pop(key, None)", "merged[key] = None"),
    "repair/merge_spans": ("first <= merged[-1][1]", "first < merged[-1][1]"),
    "repair/page_numbers": ("+ 1, item", ", item"),
    "repair/rank_players": ("(-scores[name], name)", "-scores[name]"),
    "repair/remove_short": ("< shortest", "<= shortest"),
    "repair/running_balance": (">= -limit", "> -limit"),
    "repair/runoff_winner": ("2 * votes[name] >", "2 * votes[name] >="),
    "repair/split_bill": ("share + 1 if", "share + rest if"),
    "repair/sum_of_nested": ("depth + 1", "depth + 2"),
    "repair/swap_history": ("now[i], now[j] = now[j], now[i]", "now[i], now[i] = now[j], now[i]"),
    "repair/task_layers": ("issuperset(needs[task])", "issuperset(needs[task][:1])"),
    "repair/told_by_day": ("friend not in knowing", "friend != first"),
    "repair/unclosed_tags": ("elif name in tags", "elif tags and tags[-1] == name"),
    "repair/windows_above": ("> limit", ">= limit"),
    "repair/word_lengths": ("line.split()", 'line.split(" ")'),
    "repair/wrap_words": ("> width", ">= width"),
    "stdio/aligned_columns": ('cell.removeprefix("-").isdigit()', "cell.isdigit()"),
    "stdio/boxed_note": ("(width + 2)", "width"),
    "stdio/cart_on_map": ("rows, 1)", "rows, 0)"),
    "stdio/cash_books": (" if len(books) > 1", " if len(books) > 2"),
    "stdio/free_times": ("max([begin, end])", "end"),
    "stdio/gate_log": ("most = max([most, len(inside)])", "most = len(inside)"),
    "stdio/island_sizes": ("(y, x + 1)", "(y + 1, x + 1)"),
    "stdio/jump_program": ("done == 1000", "done == 999"),
    "stdio/lift_stops": ("max(ahead) < 0", "min(ahead) < 0"),
    "stdio/month_sheet": ("year % 4 == 0", "year % 4 == 1"),
    "stdio/outline_numbers": ("counts = counts[: level + 1]", "counts = counts[: level + 2]"),
    "stdio/queue_at_counter": ("max(arrival, free)", "free"),
    "stdio/run_picture": ('row.ljust(width, ".")', "row"),
    "stdio/site_plan": ("max([0, *map(finish, needs)])", "sum([0, *map(finish, needs)])"),
    "stdio/stack_program": ('"sub": [a - b]', '"sub": [b - a]'),
    "stdio/stall_totals": ("(-sum(sales[name]), name)", "-sum(sales[name])"),
    "stdio/time_slices": ("arrivals[coming[0]] <= minute", "arrivals[coming[0]] < minute"),
    "stdio/water_tank": ("sorted([0, level, capacity])[1]", "max([level, 0])"),
    "stdio/way_from_fire": ("edge = around(edge) - fire - known", "edge = around(edge) - known"),
    "stdio/working_days": ("number == 0 and not works(day)", "number == 1 and not works(day)"),
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
