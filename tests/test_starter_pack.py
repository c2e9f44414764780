"""The starter pack: enough tasks, split by idea, and nothing in the statement that gives the answer away."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from pathlib import Path

import pytest

from appliance.nouns import Task
from appliance.tasks import load_pack, shipped_packs

TASKS = load_pack(shipped_packs()["starter"])
SHORTEST_TOLD = 4
"""Expression nodes: `n + 1` may stand in a statement by chance, a call with an operator does not."""


def gold(task: Task) -> str:
    return (Path(task.folder) / "solution" / "solution.py").read_text()


def returned(source: str) -> list[str]:
    """What the gold returns, as canonical expressions worth looking for."""
    found = [
        node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Return) and node.value
    ]
    return [ast.unparse(value) for value in found if sum(1 for _ in ast.walk(value)) > SHORTEST_TOLD]


def squeezed(text: str) -> str:
    return "".join(text.split()).replace('"', "'")


def gives_away(statement: str, source: str) -> list[str]:
    """The returned expressions of `source` that stand in `statement`."""
    return [part for part in returned(source) if squeezed(part) in squeezed(statement)]


def test_there_are_enough_tasks_in_three_tiers() -> None:
    splits = Counter(task.split for task in TASKS)
    assert len(TASKS) >= 60 and splits["eval"] >= 20
    assert {task.tier for task in TASKS} == {"easy", "core", "hard"}
    assert {task.kind for task in TASKS} == {"function"}


def test_no_idea_is_in_both_splits() -> None:
    train = {task.cluster for task in TASKS if task.split == "train"}
    assert not train & {task.cluster for task in TASKS if task.split == "eval"}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_the_statement_does_not_hold_the_answer(task: Task) -> None:
    told = task.statement + task.start + (Path(task.folder) / "task.toml").read_text()
    assert gives_away(told, gold(task)) == []


def test_an_answer_in_a_statement_is_noticed() -> None:
    source = "def f(a):\n    return max(a, key=a.count)\n"
    assert gives_away("The commonest: max(a,  key=a.count).", source) == ["max(a, key=a.count)"]
    assert gives_away("The commonest item.", source) == []


def test_no_two_golds_across_the_splits_are_the_same_program() -> None:
    shapes = {
        split: {shape(gold(task)) for task in TASKS if task.split == split} for split in ("train", "eval")
    }
    assert not shapes["train"] & shapes["eval"]


def shape(source: str) -> str:
    """The gold without its docstring, with every name numbered in order of appearance."""
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    function.body = function.body[1:]
    function.returns, names = None, {function.name: "f"}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            node.annotation = None
            node.arg = names.setdefault(node.arg, f"v{len(names)}")
        elif isinstance(node, ast.Name) and not hasattr(builtins, node.id):
            node.id = names.setdefault(node.id, f"v{len(names)}")
    function.name = "f"
    return ast.dump(function)
