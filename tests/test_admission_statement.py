"""V7 on made tasks: what hidden tests ask for and nothing visible says is named; what can be worked out is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from function_tasks import write
from kind_tasks import made_task

from appliance.admission import statement
from appliance.attacks import __path__ as attacks
from appliance.tasks import load_pack, load_task, shipped_packs


def missing(folder: Path, text: str, rows: list[dict[str, Any]]) -> list[str]:
    write(
        folder, "def solve(*given):\n    return None\n", cases=rows, public=[{"args": [[]], "expected": []}]
    )
    (folder / "instruction.md").write_text(text)
    return list(statement.check(load_task(folder)).measured["missing"])


def words(*answers: str) -> list[dict[str, Any]]:
    return [{"args": [number], "expected": answer} for number, answer in enumerate(answers, 1)]


@pytest.mark.parametrize(
    ("text", "rows", "found"),
    [
        ("Write `solve(n)`.", words("1", "2", "Fizz", "4", "Buzz"), ["the word 'Buzz'", "the word 'Fizz'"]),
        ("Write `solve(n)`: Fizz or Buzz.", words("1", "2", "Fizz", "4", "Buzz"), []),
        ("Write `solve(n)`.", [{"args": [0], "raises": "ValueError"}], ["the exception ValueError"]),
        (
            "`solve(n)` raises KeyError.",
            [{"args": [0], "raises": "ValueError"}],
            ["the exception ValueError"],
        ),
        ("`solve(n)` raises for 0.", [{"args": [0], "raises": "ValueError"}], []),
        ("A value error for 0: `solve`.", [{"args": [0], "raises": "ValueError"}], []),
        ("`solve`: the price.", [{"args": [n], "expected": 5 if n < 12 else 25} for n in range(14)], []),
        (
            "`solve`: the price.",
            [{"args": [n], "expected": 5 if n < 9 else 25} for n in range(14)],
            ["the number 25"],
        ),
        ("`solve`: 25 from 9 on.", [{"args": [n], "expected": 5 if n < 9 else 25} for n in range(14)], []),
    ],
)
def test_what_answers_must_hold_has_to_be_said(
    tmp_path: Path, text: str, rows: list[dict[str, Any]], found: list[str]
) -> None:
    assert missing(tmp_path / "task", text, rows) == found


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ("hello", "olleh"),
        ("cat", "catcat"),
        ("Good Boy Hunter", "GBH"),
        ("Hello", "Heo"),
        ("tree top", "treetop"),
    ],
)
def test_answers_that_are_made_of_their_input_need_not_be_said(
    tmp_path: Path, given: str, answer: str
) -> None:
    rows = [{"args": [given], "expected": answer}]
    assert missing(tmp_path / "task", "Write `solve(text)`.", rows) == []


def test_a_long_input_does_not_excuse_a_word(tmp_path: Path) -> None:
    given = "the rosy story of a rat and a horse in the yard"
    assert missing(tmp_path / "t", "Write `solve`.", [{"args": [given], "expected": "sorry"}]) == [
        "the word 'sorry'"
    ]


def test_a_code_base_must_have_what_its_tests_call(tmp_path: Path) -> None:
    files = {
        "environment/repo/lib.py": "def one(value):\n    return value\n",
        "environment/repo/tests/test_lib.py": "from lib import one\n\n\ndef test_one():\n    assert one(1) == 1\n",
        "solution/lib.py": "def one(value):\n    return value\n\n\ndef two(value, sharply=False):\n    return value\n",
        "tests/suite/tests/test_two.py": (
            "import json\n\nimport lib\n\n\ndef test_two():\n    assert lib.two(1, sharply=True) == json.loads('2')\n"
        ),
        "tests/manifest.json": json.dumps(
            {"FAIL_TO_PASS": ["tests/test_two.py::test_two"], "PASS_TO_PASS": ["tests/test_lib.py::test_one"]}
        ),
        "tests/probe.json": json.dumps([{"call": "lib:two", "args": [1], "expected": 2}]),
    }
    table = 'allow = ["*.py"]\nrunner = "unittest"'
    found = statement.check(made_task(tmp_path / "unsaid", "repo", table, files))
    assert sorted(found.measured["missing"]) == [
        "the attribute two",
        "the function two",
        "the parameter sharply",
    ]
    files["instruction.md"] = "Add `two(value, sharply=False)` to `lib`."
    assert statement.check(made_task(tmp_path / "said", "repo", table, files)).state == "passed"


def test_a_query_must_be_told_tables_columns_and_order(tmp_path: Path) -> None:
    files = {
        "instruction.md": "Each team with how many there are, as `team`, `amount`.",
        "environment/solution.sql": "",
        "public/data.sql": "CREATE TABLE staff (id INTEGER, team TEXT);",
        "tests/one.sql": "CREATE TABLE staff (id INTEGER, team TEXT); INSERT INTO staff VALUES (1, 'a');",
        "tests/two.sql": "CREATE TABLE staff (id INTEGER, team TEXT); INSERT INTO staff VALUES (2, 'b');",
        "solution/solution.sql": (
            "WITH kept AS (SELECT * FROM staff JOIN wages USING (id) WHERE team <> 'none')\n"
            "SELECT team, count(*) AS headcount FROM kept GROUP BY team ORDER BY team"
        ),
    }
    table = 'mode = "query"\nordered = true\nnames = true'
    found = statement.check(made_task(tmp_path / "task", "sql", table, files))
    wanted = ["the table wages", "the name headcount", "the text 'none'", "the order of the rows"]
    assert found.measured["missing"] == wanted


def test_programs_and_scripts_must_be_told_words_and_paths(tmp_path: Path) -> None:
    files = {
        "public/1.in": "1\n",
        "public/1.out": "1\n",
        "tests/1.in": "7\n",
        "tests/1.out": "IMPOSSIBLE\n",
        "solution/solution.py": "print(input())\n",
    }
    found = statement.check(made_task(tmp_path / "program", "stdio", 'language = "python"', files))
    assert found.measured["missing"] == ["the word 'IMPOSSIBLE'"]
    files = {
        "environment/solution.sh": "",
        "public/examples.json": json.dumps([{"fixture": [], "expected": []}]),
        "tests/cases.json": json.dumps(
            [
                {
                    "fixture": [{"path": "a.log", "text": ""}],
                    "expected": [{"path": "archive/a.log", "text": ""}],
                }
            ]
        ),
        "hidden/generator.py": "print()\n",
        "solution/solution.sh": "mkdir archive; mv *.log archive; ls > report.txt\n",
    }
    found = statement.check(made_task(tmp_path / "script", "shell", "generated = 1", files))
    assert found.measured["missing"] == ["the path archive/a.log", "the file report.txt"]


def test_the_shipped_statements_suffice() -> None:
    folders = [*shipped_packs().values(), Path(next(iter(attacks))) / "pack"]
    found = [(task.key, statement.check(task)) for pack in folders for task in load_pack(pack)]
    assert [(key, check.reason) for key, check in found if check.state != "passed"] == []
