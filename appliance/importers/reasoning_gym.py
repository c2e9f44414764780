"""reasoning-gym: items of `question`, `answer` and `metadata`, as JSON lines.

An item is a question and no program. It becomes a `function` task: `answer()` takes nothing and returns the text of the
answer, which is compared with the one in the row. The library's own scorers, which give parts of a point or accept
more than one answer, are not run: where a data set has such a scorer, a right answer of another form fails here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.importers.adapt import functions, parsed, start_of
from appliance.importers.row import Imported, Options, Row, folder_of, slug
from appliance.importers.source import read
from appliance.pool.folder import Folder

NAME, SUMMARY = "reasoning-gym", "Items with a question and an answer, which is compared as a text."
ENTRY = "answer"
_USED = ("question", "answer")


def task_of(row: Row, options: Options) -> Folder:
    """The task of an item."""
    question, answer = row.text("question"), row.text("answer")
    metadata = row.table("metadata")
    set_name = metadata.get("source_dataset", "item")
    if type(set_name) is not str:
        raise row.fault("metadata", "has a 'source_dataset' that is not a string", "name the data set")
    bare = parsed(f"def {ENTRY}() -> str: pass")
    files: dict[str, str | bytes] = {
        "instruction.md": f"{question}\n\nWrite the function `{ENTRY}`, which returns the answer as a string.\n",
        "environment/solution.py": start_of(functions(bare)[ENTRY], question) if bare else "",
        "solution/solution.py": f"def {ENTRY}() -> str:\n    return {answer!r}\n",
        "tests/check.py": f"def check(candidate):\n    assert candidate() == {answer!r}\n",
    }
    name = slug(f"rg-{set_name}-{row.number}")
    table = {"entry_point": ENTRY, "check": "check"}
    return folder_of("reasoning-gym", row, name, options, ("function", table), files, _USED)


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each item of a file."""
    for row in read(source):
        task = task_of(row, options)
        yield Imported(row.number, task.name, task)
