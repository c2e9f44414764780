"""V9 on made tasks: what leaked is named, and what a start and its gold share by design is no leak."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from function_tasks import write
from kind_tasks import made_task

from appliance.admission import leaks
from appliance.attacks import __path__ as attacks
from appliance.nouns import Task
from appliance.tasks import load_pack, load_task, shipped_packs

GOLD = """\
def solve(rows):
    \"\"\"Group amounts by name.\"\"\"
    found = {}
    for name, amount in rows:
        if amount <= 0:
            continue
        found.setdefault(name, []).append(amount)
    best = sorted(found, key=lambda name: (-sum(found[name]), name))
    return [(name, sum(found[name]), max(found[name])) for name in best[:3]]
"""
BODY = GOLD.partition('"""\n')[2]
START = GOLD[: GOLD.index("    found")] + "    raise NotImplementedError\n"
CASES = [
    {"args": [[["a", n], ["b", 2 * n], ["c", n - 7]]], "expected": [["b", 2 * n, 2 * n]]}
    for n in range(1, 12)
]


def folder(tmp_path: Path, files: dict[str, str] | None = None, gold: str = GOLD) -> Task:
    place = write(tmp_path / "task", gold, cases=CASES, public=[{"args": [[]], "expected": []}])
    (place / "environment/solution.py").write_text(START)
    for name, text in (files or {}).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return load_task(place)


def test_an_honest_task_leaks_nothing(tmp_path: Path) -> None:
    found = leaks.check(folder(tmp_path))
    assert (found.state, found.measured["found"]) == ("passed", 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("instruction.md", f"Write `solve`. For example\n\n```python\n{BODY}```\n"),
        ("environment/notes.py", GOLD),
        ("environment/solution.py", START + "".join(f"#{line}\n" for line in BODY.splitlines())),
        ("environment/solution.py", START.replace('"""Group', f"'''\n{BODY}'''\n    \"\"\"Group")),
        ("environment/cases.json", json.dumps(CASES)),
        ("environment/solution.py.orig", "def solve(rows): ...\n"),
        ("environment/.git/HEAD", "ref: refs/heads/main\n"),
        ("public/.pytest_cache/README.md", "cache\n"),
        ("public/solution.py~", "\n"),
    ],
)
def test_a_leak_is_found_wherever_it_is(tmp_path: Path, name: str, text: str) -> None:
    found = leaks.check(folder(tmp_path, {name: text}))
    assert found.state == "failed"
    assert "leaked" in found.reason and found.remedy


def test_the_whole_of_a_short_gold_is_a_leak_and_its_words_are_not(tmp_path: Path) -> None:
    gold = 'def solve(n):\n    """Twice n and three."""\n    return 2 * n + 3\n'
    assert (
        leaks.check(folder(tmp_path, {"instruction.md": "Return twice n, plus 3."}, gold)).state == "passed"
    )
    told = leaks.check(folder(tmp_path, {"instruction.md": "Fill in: `return 2 * n + 3`."}, gold))
    assert told.reason == "leaked: all that solution/solution.py adds in instruction.md"


def test_a_function_to_repair_shares_all_but_its_fault(tmp_path: Path) -> None:
    start = {"environment/solution.py": GOLD.replace("amount <= 0", "amount < 0")}
    assert leaks.check(folder(tmp_path, start)).state == "passed"
    told = {**start, "environment/fixed.py": GOLD}
    assert leaks.check(folder(tmp_path, told)).state == "failed"


def test_hidden_cases_that_all_are_examples_hide_nothing(tmp_path: Path) -> None:
    found = leaks.check(folder(tmp_path, {"public/examples.json": json.dumps(CASES)}))
    assert found.reason == "leaked: every hidden case is a public example"


def test_a_code_base_must_not_hold_the_lines_that_its_gold_adds(tmp_path: Path) -> None:
    rest = "".join(f"def part_{n}(value):\n    return value + {n}\n\n\n" for n in range(12))
    files = {
        "environment/repo/lib.py": rest,
        "environment/repo/tests/test_lib.py": "import lib\n\n\ndef test_one():\n    assert lib.part_1(1) == 2\n",
        "solution/lib.py": rest + BODY.replace("    found = {}", "def best(rows):\n    found = {}", 1),
        "tests/suite/tests/test_best.py": "from lib import best\n\n\ndef test_best():\n    assert best([]) == []\n",
        "tests/manifest.json": json.dumps(
            {
                "FAIL_TO_PASS": ["tests/test_best.py::test_best"],
                "PASS_TO_PASS": ["tests/test_lib.py::test_one"],
            }
        ),
        "tests/probe.json": json.dumps([{"call": "lib:best", "args": [[]], "expected": []}]),
    }
    table = 'allow = ["*.py"]\nrunner = "unittest"'
    assert leaks.check(made_task(tmp_path / "honest", "repo", table, files)).state == "passed"
    left = files | {"environment/repo/old/lib_new.py": files["solution/lib.py"]}
    found = leaks.check(made_task(tmp_path / "leaked", "repo", table, left))
    assert found.state == "failed" and "old/lib_new.py" in found.reason


def test_no_shipped_task_leaks() -> None:
    folders = [*shipped_packs().values(), Path(next(iter(attacks))) / "pack"]
    found = [leaks.check(task) for pack in folders for task in load_pack(pack)]
    assert [check.reason for check in found if check.state != "passed"] == []
