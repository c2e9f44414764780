"""The admission battery in real jails: a sound task passes, and each planted defect is refused for the right reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from appliance.admission import alternatives, battery, hostile
from appliance.admission.battery import Subject
from appliance.cli.task_admit import command
from appliance.errors import UsageError
from appliance.judge import Judge
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.store import Store
from appliance.tasks import load_task
from appliance.yard import Yard
from tests.function_tasks import write
from tests.kind_tasks import made_task

GOLD = """\
def solve(number):
    if number < 0:
        raise ValueError("negative")
    if number > 10:
        return 10
    return number * 2
"""
PUBLIC = [{"args": [3], "expected": 6}, {"args": [20], "expected": 10}]
CASES = [
    {"args": [0], "expected": 0},
    {"args": [1], "expected": 2},
    {"args": [9], "expected": 18},
    {"args": [10], "expected": 20},
    {"args": [11], "expected": 10},
    {"args": [100], "expected": 10},
    {"args": [-1], "raises": "ValueError"},
    {"args": [-7], "raises": "ValueError"},
]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    home = tmp_path_factory.mktemp("home")
    return Paths(data=home / "data", cache=home / "cache")


@pytest.fixture(scope="module")
def yard(paths: Paths) -> Iterator[Yard]:
    with Yard(paths, warm=True) as yard:
        yield yard


def subject(task: Task, yard: Yard) -> Subject:
    return Subject(task, yard, Judge(yard), ThreadPoolExecutor(4), None, (0, 0))


def examined(task: Task, yard: Yard, names: str = "") -> dict[str, dict[str, Any]]:
    record = battery.examine(subject(task, yard), battery.chosen(names))
    return {check["id"]: check for check in record["checks"]}


def made(tmp_path: Path, gold: str = GOLD, name: str = "task", **parts: Any) -> Task:
    folder = write(tmp_path / name, gold, **{"public": PUBLIC, "cases": CASES, **parts})
    (folder / "instruction.md").write_text(
        "Write `solve`: twice the number up to 10, and 10 above it. Raise ValueError below 0.\n"
    )
    return load_task(folder)


def failed(checks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [name for name, check in checks.items() if check["state"] == "failed"]


@pytest.mark.jail
def test_a_sound_task_passes_every_check_and_every_number_is_kept(tmp_path: Path, yard: Yard) -> None:
    checks = examined(made(tmp_path), yard)
    assert failed(checks) == []
    assert checks["V1"]["measured"]["passed"] == 5
    assert {"TZ", "PYTHONHASHSEED", "LC_ALL"} <= set(checks["V1"]["measured"]["varied"])
    assert checks["V3"]["measured"]["tried"] > 10
    assert checks["V5"]["measured"]["killed"] >= 0.9 and checks["V5"]["measured"]["mutants"] > 10
    assert checks["V6"]["measured"] == {"by_hand": 0, "automatic": 1, "refused": []}
    assert checks["V8"]["measured"]["tried"] > 100
    assert checks["V10"]["measured"]["flake_rate_below"] == 0.259
    assert checks["V14"]["state"] == "not_applicable"


@pytest.mark.jail
def test_a_gold_that_changes_its_mind_is_flaky(tmp_path: Path, yard: Yard) -> None:
    coin = "import os\nWRONG = os.urandom(1)[0] % 2\n" + GOLD.replace("number * 2", "number * 2 + WRONG")
    checks = examined(made(tmp_path, coin), yard, "V1,V2,V5,V10")
    assert "flaky: the gold flipped" in checks["V10"]["reason"]
    assert failed(checks) == ["V1", "V10"] and checks["V5"]["reason"] == "the gold fails V1"


@pytest.mark.jail
def test_a_gold_that_hangs_on_its_hash_seed_or_time_zone_fails(tmp_path: Path, yard: Yard) -> None:
    for name, gold in {
        "hash": "def solve(number):\n    return hash('a') % 7\n",
        "zone": "import time\ndef solve(number):\n    return time.timezone\n",
    }.items():
        known = [{"args": [1], "expected": 0}]
        task = made(tmp_path, gold, name, public=known, cases=known)
        checks = examined(task, yard, "V1")
        assert checks["V1"]["state"] == "failed" and checks["V1"]["measured"]["passed"] < 5


@pytest.mark.jail
def test_weak_tests_let_faults_through_and_say_which(tmp_path: Path, yard: Yard) -> None:
    weak = [case for case in CASES if case["args"] in ([1], [100])]
    checks = examined(made(tmp_path, cases=weak), yard, "V1,V5")
    assert checks["V5"]["state"] == "failed" and checks["V5"]["reason"].startswith("weak tests: 0.")
    survivors = checks["V5"]["measured"]["survivors"]
    assert {"number < 0", "number > 10"} & {one["before"] for one in survivors}
    assert all(one["line"] and one["operator"] and one["after"] for one in survivors)


@pytest.mark.jail
def test_a_mutant_that_never_differs_is_no_survivor(tmp_path: Path, yard: Yard) -> None:
    gold = "def solve(number):\n    if number < 0:\n        return 0\n    return max(number, 0)\n"
    rows = [{"args": [number], "expected": max(number, 0)} for number in (-5, -1, 0, 1, 2, 9)]
    checks = examined(made(tmp_path, gold, public=rows[:2], cases=rows), yard, "V5")
    found = checks["V5"]["measured"]
    assert checks["V5"]["state"] == "passed" and found["equivalent"] >= 2 and found["survived"] == 0
    assert found["screen"] == "answers to 5000 random inputs"


@pytest.mark.jail
def test_a_branch_for_one_word_is_not_called_equivalent(tmp_path: Path, yard: Yard) -> None:
    gold = "def solve(text):\n    if text == 'quit':\n        return 'bye'\n    return text + '!'\n"
    rows = [{"args": [text], "expected": text + "!"} for text in ("a", "hello", "zz", "moon")]
    checks = examined(made(tmp_path, gold, public=rows[:1], cases=rows), yard, "V5")
    assert checks["V5"]["state"] == "failed"
    assert any("'bye'" in one["before"] for one in checks["V5"]["measured"]["survivors"])


@pytest.mark.jail
def test_tests_that_refuse_another_right_solution_are_narrow(tmp_path: Path, yard: Yard) -> None:
    task = made(tmp_path)
    other = Path(task.folder) / "solution/alternatives/rounded/solution.py"
    other.parent.mkdir(parents=True)
    other.write_text(GOLD.replace("number * 2", "float(number * 2)"))
    checks = examined(load_task(Path(task.folder)), yard, "V6")
    assert checks["V6"]["state"] == "failed" and checks["V6"]["reason"].startswith("narrow tests: rounded")
    assert checks["V6"]["measured"] == {"by_hand": 1, "automatic": 1, "refused": ["rounded"]}


@pytest.mark.jail
def test_a_task_without_an_alternative_is_narrow(tmp_path: Path, yard: Yard) -> None:
    task = sql_task(tmp_path, "SELECT name FROM people ORDER BY name;\n")
    assert examined(task, yard, "V6")["V6"]["reason"] == "narrow: nothing but the gold was tried"


@pytest.mark.jail
def test_constant_cases_that_are_public_earn_by_heart(tmp_path: Path, yard: Yard) -> None:
    checks = examined(made(tmp_path, cases=PUBLIC), yard, "V1,V3,V8")
    assert failed(checks) == ["V8"]
    assert "W10 memorise-the-examples earned a reward" in checks["V8"]["reason"]


@pytest.mark.jail
def test_a_task_that_a_constant_solves_is_refused(tmp_path: Path, yard: Yard) -> None:
    rows = [{"args": [number], "expected": 10} for number in (11, 12, 40)]
    checks = examined(made(tmp_path, public=rows[:1], cases=rows), yard, "V3")
    assert "answer of example 0" in checks["V3"]["reason"]


@pytest.mark.jail
def test_a_gold_at_its_limits_is_out_of_budget(tmp_path: Path, yard: Yard) -> None:
    slow = "import time\n" + GOLD.replace("    if number > 10", "    time.sleep(0.2)\n    if number > 10")
    checks = examined(made(tmp_path, slow), yard, "V11")
    assert checks["V11"]["state"] == "failed" and "wall_s" in checks["V11"]["reason"]


@pytest.mark.jail
def test_tests_that_a_model_wrote_must_find_a_fault(tmp_path: Path, yard: Yard) -> None:
    task = made(tmp_path)
    pool = Path(task.folder) / "pool.toml"
    pool.write_text(pool.read_text().replace('provenance = "self-written"', 'provenance = "model-written"'))
    checks = examined(load_task(Path(task.folder)), yard, "V14")
    assert checks["V14"]["state"] == "passed" and checks["V14"]["measured"]["killed"] > 5


def sql_task(tmp_path: Path, gold: str) -> Task:
    rows = (
        "CREATE TABLE people (name TEXT, age INTEGER);\nINSERT INTO people VALUES ('Bo', 3), ('Ada', 40);\n"
    )
    more = rows + "INSERT INTO people VALUES ('Cy', 17), ('Di', 18), ('Ed', 19);\n"
    files = {
        "environment/solution.sql": "-- write a query\n",
        "solution/solution.sql": gold,
        "public/data.sql": rows,
        "tests/one.sql": more,
        "tests/two.sql": more + "DELETE FROM people WHERE name = 'Bo';\n",
    }
    return made_task(tmp_path / "sql", "sql", 'mode = "query"\nordered = true\n', files)


@pytest.mark.jail
def test_faults_of_a_query_are_found_or_listed(tmp_path: Path, yard: Yard) -> None:
    task = sql_task(tmp_path, "SELECT name FROM people WHERE age >= 18 AND age < 90 ORDER BY name DESC;\n")
    checks = examined(task, yard, "V1,V2,V3,V5,V8")
    assert failed(checks) == ["V5"]
    assert any(one["before"].startswith("SELECT") for one in checks["V5"]["measured"]["survivors"])


def test_the_gold_in_other_words_is_another_text_that_keeps_what_may_be_looked_up() -> None:
    source = (
        "import os.path as where\n"
        "def outer(given, *, option=1):\n"
        "    '''Doc.'''\n"
        "    total = given\n"
        "    def inner(extra):\n"
        "        nonlocal option\n"
        "        return total + extra\n"
        "    try:\n"
        "        total = inner(total)\n"
        "    except ValueError as fault:\n"
        "        return str(fault)\n"
        "    if total > 3:\n"
        "        return where.join('a', str(total))\n"
        "    else:\n"
        "        return option\n"
    )
    other = alternatives.rewritten(source)
    assert "total_in_other_words" in other and "if not total_in_other_words > 3" in other
    for kept in ("outer(given, *, option=1)", "def inner(extra)", "as fault", "str(fault)", "where.join"):
        assert kept in other
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    exec(source, first)
    exec(other, second)
    for given in (0, 1, 2, 50):
        assert first["outer"](given) == second["outer"](given)


def test_names_that_may_be_looked_up_stay() -> None:
    source = "def f(x):\n    y = x\n    return locals()['y']\n"
    scope: dict[str, Any] = {}
    exec(alternatives.rewritten(source), scope)
    assert scope["f"](4) == 4


def test_every_kind_with_attacks_has_some_for_its_own_tasks(tmp_path: Path) -> None:
    labels = [label for label, _ in hostile.attacks(made(tmp_path))]
    assert labels[0] == "W10 memorise-the-examples"
    assert {label[0] for label in labels} >= set("ABCEW")


def test_a_check_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="'V4'"):
        battery.chosen("V1,V4")
    assert battery.chosen("v10, v1") == ("V1", "V10")


@pytest.mark.jail
def test_evidence_is_kept_used_again_and_dropped_with_the_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path / "home"))
    weak = made(tmp_path, cases=CASES[:2])
    asked = [weak.folder, "--json"]
    first = CliRunner().invoke(command, asked)
    assert first.exit_code == 1, first.output
    told = json.loads(first.output)
    assert told["ok"] is False and told["admitted"] == 0 and told["tasks"][0]["known"] is False
    again = json.loads(CliRunner().invoke(command, asked).output)
    assert again["tasks"][0] == told["tasks"][0] | {"known": True}
    made(tmp_path)  # the same folder, with the cases that were missing
    better = CliRunner().invoke(command, [weak.folder])
    assert better.exit_code == 0 and "V5   mutants killed" in better.output
    known = Paths(data=tmp_path / "home/data", cache=tmp_path / "home/cache")
    with Store(known.store, known.objects) as store:
        last = store.last_admission(weak.key)
    assert last is not None and last["ok"] == 1 and last["machine"] and last["id"] == 2


@pytest.mark.jail
def test_a_part_of_the_battery_admits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path / "home"))
    task = made(tmp_path)
    part = CliRunner().invoke(command, [task.folder, "--only", "V7"])
    assert part.exit_code == 0, part.output
    known = Paths(data=tmp_path / "home/data", cache=tmp_path / "home/cache")
    with Store(known.store, known.objects) as store:
        assert battery.current(store, task) is None
