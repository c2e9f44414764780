"""LiveCodeBench: statement, public and private test cases, and no solution.

`public_test_cases` is a list of `{input, output, testtype}`, or a JSON text of one; so is `private_test_cases`, or it
is base64 of zlib of one. The collection itself packs a pickle there, which is refused: what a pickle means is only
known by running it. Cases of `testtype` "functional" make a `function` task of the method `metadata.func_name`: each
line of the input is an argument as JSON, the output is JSON. Cases of "stdin" make a `stdio` task. The gold solution
is taken from the folder that `--golds` names.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from appliance.importers.adapt import Unfit, as_function, cases, start_for, stdio_files
from appliance.importers.row import TIERS, Imported, Options, Row, folder_of, name_of
from appliance.importers.source import tasks
from appliance.pool.folder import Folder

NAME, SUMMARY = "LiveCodeBench", "Rows with public and private test cases; gold solutions from --golds."
MAX_UNPACKED = 64 << 20
"""Bytes of the private cases of one row."""
MAX_GOLD = 1 << 20
_PICKLE = b"\x80"
"""How every pickle of protocol 2 and later begins; no JSON does."""
_USED = (
    *("question_id", "question_content", "starter_code", "public_test_cases", "private_test_cases"),
    "difficulty",
)


def task_of(row: Row, options: Options) -> Folder:
    """The task of a row; Unfit for a pickle, and when there is no gold solution."""
    public, hidden = _cases(row, "public_test_cases"), _private(row)
    name, statement = name_of(row, "question_id", "lcb-"), row.text("question_content")
    kinds = {case["testtype"] for case in (*public, *hidden)}
    if len(kinds) != 1 or not public or not hidden:
        raise Unfit("it has not both public and private cases of one type")
    gold = find_gold(row, "question_id", name, options)
    if kinds == {"functional"}:
        entry = row.table("metadata").get("func_name")
        if type(entry) is not str or not entry.isidentifier():
            raise row.fault("metadata", "has no 'func_name'", "name the function that is called")
        table: dict[str, Any] = {"entry_point": entry}
        files: dict[str, str | bytes] = {
            "environment/solution.py": start_for(row.text("starter_code", ""), entry, statement),
            "public/examples.json": cases(_calls(row, "public_test_cases", public)),
            "tests/cases.json": cases(_calls(row, "private_test_cases", hidden)),
            "solution/solution.py": as_function(gold, entry),
        }
        kind = "function"
    else:
        kind, table = "stdio", {"language": "python", "checker": "tokens"}
        files = stdio_files(_pairs(public), _pairs(hidden)) | {"solution/solution.py": gold}
    files["instruction.md"] = statement
    tier = TIERS.get(row.text("difficulty", ""), "core")
    return folder_of("live-code-bench", row, name, options, (kind, table), files, _USED, tier)


def find_gold(row: Row, field: str, name: str, options: Options) -> str:
    """The gold solution that the user gave beside the rows; Unfit when there is none."""
    places = [] if options.golds is None else [options.golds / f"{name}.py"]
    if options.golds is not None and "/" not in str(row.data[field]):
        places.append(options.golds / f"{row.data[field]}.py")
    for place in places:
        if place.is_file() and not place.is_symlink() and place.stat().st_size <= MAX_GOLD:
            try:
                return place.read_text("utf-8")
            except UnicodeDecodeError as error:
                raise Unfit(f"the gold solution {place.name}: {error}") from None
    raise Unfit(f"needs a gold solution: put {name}.py into a folder and name that with --golds")


def _private(row: Row) -> list[dict[str, Any]]:
    packed = row.data.get("private_test_cases")
    if type(packed) is not str or packed.lstrip()[:1] in ("[", ""):
        return _cases(row, "private_test_cases")
    try:
        unpacker = zlib.decompressobj()
        body = unpacker.decompress(base64.b64decode(packed, validate=True), MAX_UNPACKED)
    except (binascii.Error, zlib.error) as error:
        raise row.fault(
            "private_test_cases", f"is no base64 of zlib: {error}", "write a JSON list of cases"
        ) from None
    if unpacker.unconsumed_tail:
        raise Unfit(f"its private cases unpack to more than {MAX_UNPACKED >> 20} MiB")
    if body[:1] == _PICKLE:
        raise Unfit("its private cases are a pickle, which is never read: write them as JSON")
    return _checked(row, "private_test_cases", _json(row, body))


def _json(row: Row, body: bytes) -> Any:
    try:
        found = json.loads(body)
        return json.loads(found) if type(found) is str else found
    except (ValueError, RecursionError) as error:
        raise row.fault("private_test_cases", f"unpacks to no JSON: {error}", "write a JSON list") from None


def _cases(row: Row, field: str) -> list[dict[str, Any]]:
    return _checked(row, field, row.listed(field))


def _checked(row: Row, field: str, found: Any) -> list[dict[str, Any]]:
    if type(found) is not list:
        raise row.fault(field, "is not a list", "write a JSON list of cases")
    for case in found:
        good = type(case) is dict and case.get("testtype") in ("stdin", "functional")
        if not good or not all(type(case.get(name)) is str for name in ("input", "output")):
            raise row.fault(
                field,
                "holds no test case",
                'write {"input": "..", "output": "..", "testtype": "stdin" or "functional"}',
            )
    return found


def _pairs(found: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(case["input"], case["output"]) for case in found]


def _calls(row: Row, field: str, found: Sequence[dict[str, Any]]) -> list[tuple[list[Any], Any]]:
    try:
        return [
            ([json.loads(line) for line in given.splitlines() if line.strip()], json.loads(wanted))
            for given, wanted in _pairs(found)
        ]
    except (ValueError, RecursionError) as error:
        raise row.fault(
            field, f"holds an argument that is no JSON: {error}", "write one a line, as JSON"
        ) from None


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each row of a LiveCodeBench file."""
    yield from tasks(source, options, "question_id", task_of)
