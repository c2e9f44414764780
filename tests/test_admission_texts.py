"""The checks that read texts: leaks, statements, duplicates, tiers, and the operators of mutants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from appliance.admission import battery, duplicates, mutation, stubs
from appliance.admission.operators import mutants
from appliance.judge import Judge
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.pool import folder
from appliance.tasks import load_task, shipped_packs
from appliance.yard import Yard

HALVES = [[n, n // 2] for n in (-7, -2, -1, 0, 1, 2, 3, 9, 10, 41)]
GOLD = 'def half(n: int) -> int:\n    """Return n divided by two, rounded down."""\n    return n // 2\n'


def made(root: Path, name: str = "half", split: str = "train", **files: str) -> Task:
    """A sound task of the kind `function`, with some of its files replaced."""
    base = folder.read(shipped_packs()["starter"] / "clamp")
    key = f"made/{name}"
    kept = {name: value for name, value in base.pool.items() if name != "canary"}
    pool = {**kept, "key": key, "split": split, "cluster": name, "function": {"entry_point": "half"}}
    cases = [{"args": [given], "expected": wanted} for given, wanted in HALVES]
    bodies = {
        "instruction.md": "Write `half(n)`, which returns the integer `n` divided by two, rounded down.",
        "environment/solution.py": GOLD.replace("return n // 2", "raise NotImplementedError"),
        "public/examples.json": json.dumps(cases[4:6]),
        "tests/cases.json": json.dumps(cases),
        "solution/solution.py": GOLD,
    }
    body = {path: text.encode() for path, text in {**bodies, **files}.items()}
    task = folder.Folder(pool, {**base.manifest, "task": {"name": key}}, body)
    return load_task(folder.write(root, task))


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    root = tmp_path_factory.mktemp("yard")
    with Yard(Paths(root / "data", root / "cache"), warm=True) as opened:
        yield opened


def examine(yard: Yard, task: Task, only: str = "", others: tuple[Task, ...] = ()) -> dict[str, Any]:
    index = duplicates.Index(map(duplicates.fingerprint, (task, *others)))
    with ThreadPoolExecutor(2) as threads:
        subject = battery.Subject(task, yard, Judge(yard), threads, index, (0, 0))
        return battery.examine(subject, battery.chosen(only))


def failed(record: dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["reason"] for check in record["checks"] if check["state"] == "failed"}


@pytest.mark.jail
def test_a_statement_that_hides_what_is_asked_is_refused(yard: Yard, tmp_path: Path) -> None:
    words = json.dumps([{"args": [n], "expected": "Fizzle" if n else "none"} for n in range(10)])
    task = made(tmp_path, **{"tests/cases.json": words})
    assert "Fizzle" in failed(examine(yard, task, "V7"))["V7"]


@pytest.mark.jail
def test_a_duplicate_of_an_eval_task_is_refused(yard: Yard, tmp_path: Path) -> None:
    kept = made(tmp_path, "kept", "eval")
    copy = made(
        tmp_path, "copy", **{"solution/solution.py": GOLD.replace("n:", "value:").replace("n //", "value //")}
    )
    assert "made/kept of the split eval" in failed(examine(yard, copy, "V12", (kept,)))["V12"]
    same_split = made(tmp_path, "same")
    assert not failed(examine(yard, same_split, "V12", (copy,)))


def test_mutants_differ_and_leave_annotations_and_docstrings_alone() -> None:
    found = mutants(
        'def f(n: int = 3) -> str:\n    """Three."""\n    if n > 2:\n        return "a"\n    return "b"\n'
    )
    assert len({one.source for one in found}) == len(found) >= 8
    assert all('"""Three."""' in one.source and "n: int" in one.source for one in found)
    assert {"comparison", "off by one", "inverted branch", "removed guard"} <= {one.operator for one in found}
    assert mutants("x = 1\n") == mutants("x = 1\n")


def test_textual_mutants_of_a_query() -> None:
    found = [
        one.after
        for one in mutation.textual("SELECT a FROM t WHERE a > 3 AND b = 1\nORDER BY a DESC;\n", "sql")
    ]
    assert (
        "SELECT a FROM t WHERE a >= 3 AND b = 1" in found and "SELECT a FROM t WHERE a > 3 OR b = 1" in found
    )
    assert "ORDER BY a ;" in found


def test_a_stub_that_is_the_solution_is_no_stub() -> None:
    packs = shipped_packs()
    assert "length" not in stubs.of(load_task(packs["starter"] / "length_of_list"))
    assert "length" in stubs.of(load_task(packs["starter"] / "flatten"))
