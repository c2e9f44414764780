"""What a `shell` task folder holds: written cases, and the programs that make fresh ones.

`public/examples.json` (for everybody) and `tests/cases.json` (for the judge, may be left out) are lists of objects:
`fixture` and `expected` are trees, `arguments` and `stdin` what the script is given, `stdout` what it must print where
the task compares that. `hidden/generator.py` makes the fixture of one more case, `solution/solution.sh` is the gold
script.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import values
from appliance.errors import TaskError
from appliance.examination import Layer
from appliance.kinds.shell_trees import Tree, is_encodable, read_tree
from appliance.tables import Field, check_table

SOURCE = "solution.sh"
GOLD = "solution/solution.sh"
PUBLIC = "public/examples.json"
HIDDEN = "tests/cases.json"
GENERATOR = "hidden/generator.py"

MAX_ARGUMENT_BYTES = 64 * 1024

_CASE = {
    "fixture": Field(list),
    "expected": Field(list),
    "arguments": Field(list, required=False),
    "stdin": Field(str, required=False),
    "stdout": Field(str, required=False),
}
_TEXTS = ("stdin", "stdout")


@dataclass(frozen=True, slots=True)
class Case:
    """One run of the script: what it finds and is given, and what must be there afterwards."""

    layer: Layer
    index: int
    fixture: Tree
    expected: Tree
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    stdout: bytes = b""
    """Of weight only where the task compares it."""


@dataclass(frozen=True, slots=True)
class Material:
    """Everything of a task folder that judging needs."""

    public: tuple[Case, ...]
    hidden: tuple[Case, ...]
    """Those that are written."""
    gold: bytes
    generator: bytes


def too_long(arguments: Sequence[str]) -> bool:
    """Whether a command cannot take them all."""
    return sum(len(os.fsencode(word)) + 1 for word in arguments) > MAX_ARGUMENT_BYTES


def read_material(folder: Path, settings: Mapping[str, Any]) -> Material:
    """Read and check a task folder; TaskError names the file, the case and the remedy."""
    public = _read_cases(folder / PUBLIC, "quick")
    hidden = _read_cases(folder / HIDDEN, "hidden") if (folder / HIDDEN).is_file() else ()
    gold, generator = (folder / GOLD).read_bytes(), (folder / GENERATOR).read_bytes()
    for name, body in ((GOLD, gold), (GENERATOR, generator)):
        if not body.strip():
            raise TaskError(f"{folder / name} is empty", remedy="write the program")
    return Material(public, hidden, gold, generator)


def _read_cases(path: Path, layer: Layer) -> tuple[Case, ...]:
    try:
        rows = values.loads(path.read_bytes())
    except values.ValueFault as error:
        raise TaskError(f"{path}: {error}", remedy="write a JSON list of cases") from None
    if type(rows) is not list or not rows:
        raise TaskError(f"{path}: not a list of cases, or an empty one", remedy="write at least one case")
    return tuple(_case(f"{path}: case {index}", layer, index, row) for index, row in enumerate(rows))


def _case(where: str, layer: Layer, index: int, row: object) -> Case:
    if type(row) is not dict:
        raise TaskError(f"{where}: not an object", remedy="write one with fixture and expected")
    table: Mapping[str, Any] = row
    # Of these an empty one means something.
    check_table(
        where, {name: item for name, item in table.items() if item or name not in _TEXTS}, _CASE, TaskError
    )
    arguments = tuple(table.get("arguments", ()))
    texts = [word for word in (*arguments, *map(table.get, _TEXTS)) if isinstance(word, str)]
    if not all(map(is_encodable, texts)):
        raise TaskError(f"{where}: a text that stands for no bytes", remedy="leave lone surrogates out")
    if not all(isinstance(word, str) and "\0" not in word for word in arguments) or too_long(arguments):
        raise TaskError(
            f"{where}: field 'arguments' holds something else than short texts", remedy="write strings"
        )
    stdin, stdout = (str(table.get(name, "")).encode("utf-8", "surrogateescape") for name in _TEXTS)
    fixture = read_tree(f"{where}: field 'fixture'", table["fixture"])
    expected = read_tree(f"{where}: field 'expected'", table["expected"])
    return Case(layer, index, fixture, expected, arguments, stdin, stdout)
