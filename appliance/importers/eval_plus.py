"""EvalPlus (HumanEval+ and MBPP+): HumanEval's fields with `base_input`, `plus_input`, `atol` and `contract`.

A row holds inputs and no answers. The inputs become the random cases of a `function` task: its generator draws from
them, and the gold solution answers in a jail when the task is judged. The row's own `test` is kept as assertions where
it needs nothing but Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from pprint import pformat
from typing import Any

from appliance import values
from appliance.importers.adapt import Unfit, imports_only_stdlib, rest_of
from appliance.importers.adapt import values_of as tree_of
from appliance.importers.human_eval import shown
from appliance.importers.row import Imported, Options, Row, folder_of, name_of
from appliance.importers.source import tasks
from appliance.pool.folder import Folder

NAME, SUMMARY = "EvalPlus", "HumanEval+ and MBPP+ rows; the gold solution answers their inputs in a jail."
MOST = 64
"""Cases of a judging: drawn from all inputs, since each costs a call of the gold solution and of the candidate."""
MAX_INPUT = 64 << 10
"""Bytes of one input; longer ones are left out."""
_USED = ("task_id", "prompt", "entry_point", "canonical_solution", "base_input", "plus_input", "atol", "test")


def task_of(row: Row, options: Options) -> Folder:
    """The task of a row; Unfit when there is no input to judge with."""
    prompt, entry = row.text("prompt"), row.text("entry_point")
    inputs = [item for field in ("base_input", "plus_input") for item in row.listed(field, [])]
    if not all(type(item) is list for item in inputs):
        raise row.fault("base_input", "holds an input that is not a list", "write the arguments as a list")
    inputs = [item for item in inputs if len(values.dumps(tree_of(item))) <= MAX_INPUT]
    if not inputs:
        raise Unfit("the row has no input")
    table: dict[str, Any] = {"entry_point": entry, "generated": min(len(inputs), MOST), "check": "check"}
    if atol := _atol(row):
        table["tolerance"] = atol
    test = row.text("test", "")
    plain = test if "def check" in test and imports_only_stdlib(test) else _smoke(inputs[0])
    files = {
        **shown(prompt, entry),
        "solution/solution.py": prompt + row.text("canonical_solution"),
        "tests/check.py": f"{rest_of(prompt, entry)}\n\n{plain}\n",
        "tests/generator.py": _generator(inputs),
    }
    name = name_of(row, "task_id")
    return folder_of("eval-plus", row, name, options, ("function", table), files, _USED)


def _atol(row: Row) -> float:
    atol = row.data.get("atol", 0)
    if type(atol) not in (int, float) or not 0 <= atol < 1:
        raise row.fault("atol", "is not a number from 0 to below 1", "write the tolerance of floats")
    return float(atol)


def _smoke(first: list[Any]) -> str:
    """Assertions must be there where no example is: that the function answers at all."""
    return f"def check(candidate):\n    candidate(*{pformat(first)})"


def _generator(inputs: list[Any]) -> str:
    return (
        f"INPUTS = {pformat(inputs, width=110, sort_dicts=False)}\n\n\n"
        "def cases(random):\n    yield from random.sample(INPUTS, len(INPUTS))\n"
    )


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each row of an EvalPlus file."""
    yield from tasks(source, options, "task_id", task_of)
