"""APPS: `problem_id`, `question`, `solutions`, `input_output`, `difficulty`, `starter_code`.

`input_output` is `{"inputs": [..], "outputs": [..], "fn_name": ".."}`, as JSON or as a JSON text. With `fn_name` the
row is a `function` task, else a `stdio` task; the first case is public. APPS accepts an answer that is the output or
its first item; here it is the first item exactly when every output is a list of one. The first solution that is Python
3 is the gold one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from appliance.importers.adapt import Unfit, as_function, cases, parsed, start_for, stdio_files
from appliance.importers.row import TIERS, Imported, Options, Row, folder_of, name_of
from appliance.importers.source import tasks
from appliance.pool.folder import Folder

NAME, SUMMARY = "APPS", "Rows with solutions and inputs with outputs."
_USED = ("problem_id", "question", "solutions", "input_output", "difficulty", "starter_code")


def task_of(row: Row, options: Options) -> Folder:
    """The task of a row; Unfit when it has too few cases or no solution that Python 3 can read."""
    question, asked = row.text("question"), row.table("input_output")
    inputs, outputs = _column(row, asked, "inputs"), _column(row, asked, "outputs")
    if len(inputs) != len(outputs):
        raise row.fault("input_output", "has not as many outputs as inputs", "give each input its output")
    if len(inputs) < 2:
        raise Unfit(f"it has {len(inputs)} cases: one to show and one to hide are needed")
    entry = asked.get("fn_name")
    if entry is not None and (type(entry) is not str or not entry.isidentifier()):
        raise row.fault("input_output", "has a 'fn_name' that is no name", "name the function that is called")
    gold = _gold(row)
    if entry:
        kind, table = "function", {"entry_point": entry}
        files = _function(row, entry, gold, inputs, outputs)
    else:
        kind, table = "stdio", {"language": "python", "checker": "tokens"}
        pairs = [(_text(row, one), _text(row, other)) for one, other in zip(inputs, outputs, strict=True)]
        files = stdio_files(pairs[:1], pairs[1:]) | {"solution/solution.py": gold}
    files["instruction.md"] = question
    tier = TIERS.get(row.text("difficulty", ""), "core")
    name = name_of(row, "problem_id", "apps-")
    return folder_of("apps", row, name, options, (kind, table), files, _USED, tier)


def _column(row: Row, asked: dict[str, Any], name: str) -> list[Any]:
    found = asked.get(name)
    if type(found) is not list:
        raise row.fault("input_output", f"has no list {name!r}", "write inputs and outputs as lists")
    return found


def _gold(row: Row) -> str:
    for solution in row.texts("solutions", []):
        if parsed(solution) is not None:
            return solution
    raise Unfit("it has no solution that is Python 3")


def _function(
    row: Row, entry: str, gold: str, inputs: list[Any], outputs: list[Any]
) -> dict[str, str | bytes]:
    if not all(type(given) is list for given in inputs):
        raise row.fault("input_output", "has an input that is not a list", "write the arguments as a list")
    if all(type(wanted) is list and len(wanted) == 1 for wanted in outputs):
        outputs = [wanted[0] for wanted in outputs]
    pairs = list(zip(inputs, outputs, strict=True))
    return {
        "environment/solution.py": start_for(row.text("starter_code", ""), entry, row.text("question")),
        "public/examples.json": cases(pairs[:1]),
        "tests/cases.json": cases(pairs[1:]),
        "solution/solution.py": as_function(gold, entry),
    }


def _text(row: Row, given: Any) -> str:
    """What goes through a pipe: a text, or its lines."""
    if type(given) is list and all(type(line) is str for line in given):
        return "\n".join(given)
    if type(given) is not str:
        raise row.fault("input_output", "holds a case that is no text", "write a text, or a list of lines")
    return given


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each row of an APPS file."""
    yield from tasks(source, options, "problem_id", task_of)
