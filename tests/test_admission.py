"""The admission battery finds each planted defect by the right check, and accuses no honest task."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.admission import battery, calibration, duplicates, leaks, mutation
from appliance.admission.golds import renamed
from appliance.admission.operators import mutants
from appliance.judge import Judge
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.pool import folder
from appliance.store import Store
from appliance.tasks import load_task, shipped_packs
from appliance.yard import Yard

HALVES = [[n, n // 2] for n in (-7, -2, -1, 0, 1, 2, 3, 9, 10, 41)]
GOLD = 'def half(n: int) -> int:\n    """Return n divided by two, rounded down."""\n    return n // 2\n'


def made(root: Path, name: str = "half", split: str = "train", **files: str) -> Task:
    """A sound task of the kind `function`, with some of its files replaced."""
    base = folder.read(shipped_packs()["starter"] / "clamp")
    key = f"made/{name}"
    pool = {**base.pool, "key": key, "split": split, "cluster": name, "function": {"entry_point": "half"}}
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
def test_a_sound_task_is_admitted_with_its_numbers(yard: Yard, tmp_path: Path) -> None:
    record = examine(yard, made(tmp_path))
    assert record["ok"] and record["whole"], failed(record)
    found = {check["id"]: check for check in record["checks"]}
    assert found["V1"]["measured"]["passed"] == 5 and found["V10"]["measured"]["flips"] == 0
    assert found["V5"]["measured"]["killed"] == 1.0 and found["V5"]["measured"]["mutants"] >= 3
    assert found["V8"]["measured"]["tried"] > 100 and found["V13"]["state"] == "not_run"


@pytest.mark.jail
def test_weak_tests_are_refused_with_the_survivor(yard: Yard, tmp_path: Path) -> None:
    few = json.dumps([{"args": [n], "expected": wanted} for n, wanted in ((0, 0), (2, 1), (4, 3))])
    gold = GOLD.replace("return n // 2", "return n // 2 if n < 3 else n - 1")
    task = made(
        tmp_path, **{"tests/cases.json": few, "public/examples.json": few, "solution/solution.py": gold}
    )
    assert "weak tests" in failed(examine(yard, task, "V5"))["V5"]


@pytest.mark.jail
def test_a_survivor_that_never_answers_otherwise_is_no_fault(yard: Yard, tmp_path: Path) -> None:
    gold = GOLD.replace("return n // 2", "n = max(n, -(10 ** 9))\n    return n // 2")
    record = examine(yard, made(tmp_path, **{"solution/solution.py": gold}), "V5")
    (check,) = record["checks"]
    assert record["ok"] and check["measured"]["equivalent"] > 0


@pytest.mark.jail
def test_a_flaky_gold_is_refused(yard: Yard, tmp_path: Path) -> None:
    coin = "def half(n: int) -> int:\n    import time\n    return n // 2 if time.time_ns() % 2000 < 1900 else 0\n"
    assert {"V1", "V10"} & failed(
        examine(yard, made(tmp_path, **{"solution/solution.py": coin}), "V1,V10")
    ).keys()


@pytest.mark.jail
def test_narrow_tests_are_refused(yard: Yard, tmp_path: Path) -> None:
    other = "def half(n: int) -> int:\n    return n >> 1 if n else None\n"
    task = made(tmp_path, **{"solution/alternatives/shift/solution.py": other})
    assert "narrow tests: shift got fail" in failed(examine(yard, task, "V6"))["V6"]


@pytest.mark.jail
def test_a_stub_that_earns_is_refused(yard: Yard, tmp_path: Path) -> None:
    same = json.dumps([{"args": [n], "expected": 0} for n in range(10)])
    gold = GOLD.replace("return n // 2", "return n * 0")
    files = {"tests/cases.json": same, "public/examples.json": same, "solution/solution.py": gold}
    assert "0 got pass" in failed(examine(yard, made(tmp_path, **files), "V3"))["V3"].replace("0, ", "0 ", 1)


@pytest.mark.jail
def test_a_leaked_gold_is_refused(yard: Yard, tmp_path: Path) -> None:
    body = "total = 0\n    for part in range(n):\n        total += part * part - 3\n    return total"
    gold = GOLD.replace("return n // 2", body)
    leaked = f"Write `half(n)`. Hint:\n\n{gold}"
    task = made(tmp_path, **{"solution/solution.py": gold, "instruction.md": leaked})
    check = leaks.check(task)
    assert check.state == "failed" and "solution.py" in check.reason
    assert leaks.check(made(tmp_path / "other")).state == "passed"


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


def test_shipped_tasks_leak_nothing_and_have_no_twin_in_another_split() -> None:
    tasks = [load_task(path.parent) for path in sorted(shipped_packs()["starter"].glob("*/pool.toml"))]
    assert [task.key for task in tasks if leaks.check(task).state == "failed"] == []
    assert duplicates.Index(map(duplicates.fingerprint, tasks)).pairs() == []


def test_mutants_differ_and_leave_annotations_and_docstrings_alone() -> None:
    found = mutants(
        'def f(n: int = 3) -> str:\n    """Three."""\n    if n > 2:\n        return "a"\n    return "b"\n'
    )
    assert len({one.source for one in found}) == len(found) >= 8
    assert all('"""Three."""' in one.source and "n: int" in one.source for one in found)
    assert {"comparison", "off by one", "inverted branch", "removed guard"} <= {one.operator for one in found}
    assert mutants("x = 1\n") == mutants("x = 1\n")


def test_renaming_keeps_the_program() -> None:
    loop = "    total = 0\n    for x in range(a):\n        total += x * b\n"
    source = f"def f(a, b=2):\n{loop}    return [total for x in (1, 2)]\n"
    spaces: list[dict[str, Any]] = [{}, {}]
    for space, text in zip(spaces, (source, renamed(source)), strict=True):
        exec(compile(text, "f", "exec"), space)
    assert [spaces[0]["f"](n, b=3) for n in range(5)] == [spaces[1]["f"](n, b=3) for n in range(5)]
    assert "total_renamed" in renamed(source)


def test_textual_mutants_of_a_query() -> None:
    found = [
        one.after
        for one in mutation.textual("SELECT a FROM t WHERE a > 3 AND b = 1\nORDER BY a DESC;\n", "sql")
    ]
    assert (
        "SELECT a FROM t WHERE a >= 3 AND b = 1" in found and "SELECT a FROM t WHERE a > 3 OR b = 1" in found
    )
    assert "ORDER BY a ;" in found


@pytest.mark.parametrize(
    ("passes", "attempts", "tier"),
    [(0, 64, "dormant"), (0, 8, "hard"), (4, 8, "core"), (8, 8, "easy"), (64, 64, "mastered")],
)
def test_a_tier_follows_from_attempts(passes: int, attempts: int, tier: str) -> None:
    assert calibration.tier_of(passes, attempts) == tier


def test_a_task_that_nobody_ever_passed_is_looked_at(tmp_path: Path) -> None:
    task = made(tmp_path)
    assert calibration.check(task, 0, 64).state == "failed"
    assert calibration.check(task, 1, 64).state == "passed"
    assert calibration.check(replace(task, split="eval"), 5, 15).state == "not_run"


@pytest.mark.jail
def test_evidence_is_kept_and_counts_while_task_and_verifier_stay(yard: Yard, tmp_path: Path) -> None:
    task = made(tmp_path)
    with Store(tmp_path / "store.db", tmp_path / "objects") as store:
        part = examine(yard, task, "V9")
        battery.keep(store, part, now=1.0, actor=os.getuid())
        assert battery.current(store, task) is None
        whole = {**part, "whole": True}
        identity = battery.keep(store, whole, now=2.0, actor=os.getuid())
        kept = battery.current(store, task)
        assert kept is not None and kept["id"] == identity and kept["record"] == json.loads(json.dumps(whole))
        assert battery.current(store, replace(task, task_hash="another")) is None
