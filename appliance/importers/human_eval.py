"""HumanEval: `task_id`, `prompt`, `entry_point`, `canonical_solution`, `test`. A `function` task with assertions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.importers.adapt import rest_of
from appliance.importers.row import Imported, Options, Row, folder_of, name_of
from appliance.importers.source import tasks
from appliance.pool.folder import Folder

NAME, SUMMARY = "HumanEval", "Rows with a prompt, a canonical solution and a test."
FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")


def task_of(row: Row, options: Options) -> Folder:
    """The task of a row; Unfit when its prompt is no Python."""
    _, prompt, entry, solution, test = (row.text(field) for field in FIELDS)
    files = {
        **shown(prompt, entry),
        "solution/solution.py": prompt + solution,
        "tests/check.py": f"{rest_of(prompt, entry)}\n\n{test}\n",
    }
    name = name_of(row, "task_id")
    table = {"entry_point": entry, "check": "check"}
    return folder_of("human-eval", row, name, options, ("function", table), files, FIELDS)


def shown(prompt: str, entry: str) -> dict[str, str | bytes]:
    """The two files of a task that its candidate sees."""
    statement = f"Complete the function `{entry}`.\n\n```python\n{prompt}```\n"
    return {"instruction.md": statement, "environment/solution.py": prompt}


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each row of a HumanEval file."""
    yield from tasks(source, options, "task_id", task_of)
