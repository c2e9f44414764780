"""MBPP: `task_id`, `text` or `prompt`, `code`, `test_list`, `test_setup_code` or `test_imports`, `challenge_test_list`.

A `function` task with the assertions of the row as its check. The statement shows the first assertion, as the users of
MBPP do: it alone says what the function is called. The other assertions are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.importers.adapt import Unfit, called, functions, parsed, start_of
from appliance.importers.row import Imported, Options, Row, folder_of, name_of
from appliance.importers.source import tasks
from appliance.pool.folder import Folder

NAME, SUMMARY = "MBPP", "Rows with a text, code and a list of assertions."
_USED = (
    *("task_id", "text", "prompt", "code", "test_list", "test_setup_code", "test_imports"),
    "challenge_test_list",
)


def task_of(row: Row, options: Options) -> Folder:
    """The task of a row; Unfit when its assertions do not ask for one function."""
    text = row.text("prompt" if "prompt" in row.data else "text").strip()
    tests = row.texts("test_list")
    if not tests:
        raise row.fault("test_list", "is empty", "give at least one assertion")
    tree = parsed(code := row.text("code"))
    if tree is None:
        raise Unfit("the gold solution is no Python 3")
    every = [*tests, *row.texts("challenge_test_list", [])]
    entry = called(every, list(functions(tree)))
    setup = [row.text("test_setup_code", ""), *row.texts("test_imports", [])]
    lines = [line for test in every for line in test.strip().splitlines()]
    body = "\n".join(f"    {line}" for line in lines)
    shown = f"Write the function `{entry}`. It is tested, for example, by:\n\n```python\n{tests[0]}\n```\n"
    files = {
        "instruction.md": f"{text}\n\n{shown}",
        "environment/solution.py": start_of(functions(tree)[entry], text),
        "solution/solution.py": code,
        "tests/check.py": "\n".join(filter(None, setup)) + f"\n\n\ndef check(candidate):\n{body}\n",
    }
    table = {"entry_point": entry, "check": "check"}
    return folder_of(
        "mbpp", row, name_of(row, "task_id", "mbpp-"), options, ("function", table), files, _USED
    )


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each row of an MBPP file."""
    yield from tasks(source, options, "task_id", task_of)
