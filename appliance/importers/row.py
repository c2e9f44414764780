"""What every importer speaks of: a row with its place, the options, and what has become of a row."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.clean import clean_line
from appliance.errors import TaskError
from appliance.pool.folder import Folder

RECORD = "hidden/import.json"
"""Where a task keeps what its row came from, and the fields that no part of it holds. It may name the answer."""
TIERS = {
    "easy": "easy",
    "introductory": "easy",
    "medium": "core",
    "interview": "core",
    "hard": "hard",
    "competition": "hard",
}
"""A difficulty of APPS or LiveCodeBench as our tier; what has none is `core` until it was tried."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said about all rows of a source."""

    pack: str
    split: str = "train"
    licence: str = "unknown"
    repos: Path | None = None
    """Checkouts, for rows that only name one: REPOS/owner__name/COMMIT or REPOS/owner__name."""
    golds: Path | None = None
    """Gold solutions, for rows without one: GOLDS/NAME.py."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What a row became: a task, an example of a conversation, or nothing and a reason."""

    row: int
    """From 1; 0 for a folder."""
    id: str
    task: Folder | None = None
    example: Mapping[str, Any] | None = None
    blocked: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object of a source, and where it stands."""

    file: str
    number: int
    sha256: str
    """Of the whole source file."""
    data: Mapping[str, Any]

    @property
    def where(self) -> str:
        return f"{self.file}: row {self.number}"

    def fault(self, field: str, what: str, remedy: str) -> TaskError:
        """The error to raise about a field."""
        return TaskError(f"{self.where}: field {field!r} {clean_line(what, 200)}", remedy=remedy)

    def text(self, field: str, default: str | None = None) -> str:
        """A string; TaskError when it is missing (and there is no default), no string, or not UTF-8."""
        value = self.data.get(field)
        if value is None and default is not None:
            return default
        if type(value) is not str:
            what = "is missing" if field not in self.data else "is not a string"
            raise self.fault(field, what, f"give every row a text {field!r}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.fault(field, "holds half a surrogate pair", "save the text as UTF-8") from None
        return value

    def listed(self, field: str, default: Sequence[Any] | None = None) -> list[Any]:
        """A list, or a JSON text of one."""
        if self.data.get(field) is None and default is not None:
            return list(default)
        value = self.parsed(field)
        if type(value) is not list:
            raise self.fault(field, "is not a list", "write a JSON list, or a text that is one")
        return value

    def texts(self, field: str, default: Sequence[str] | None = None) -> list[str]:
        """A list of strings, or a JSON text of one."""
        found = self.listed(field, default)
        if not all(type(item) is str for item in found):
            raise self.fault(field, "holds something that is not a string", "write a list of strings")
        return found

    def table(self, field: str) -> dict[str, Any]:
        """An object, or a JSON text of one."""
        value = self.parsed(field)
        if type(value) is not dict:
            raise self.fault(field, "is not an object", "write a JSON object, or a text that is one")
        return value

    def parsed(self, field: str) -> Any:
        """A value of any type; a text is read as JSON, for many formats wrap JSON in JSON."""
        if field not in self.data:
            raise self.fault(field, "is missing", f"give every row a field {field!r}")
        value = self.data[field]
        if type(value) is not str:
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise self.fault(field, f"is no JSON: {error}", "write it as JSON") from None


def slug(text: str) -> str:
    """A text as the name of a task: lower case, digits, `-` and `_`."""
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-_")[:120]


def name_of(row: Row, field: str, prefix: str = "") -> str:
    """The id of a row as the name of its task; TaskError when nothing is left of it."""
    id = str(row.data[field])
    name = slug(prefix + id)
    if not slug(id) or not id.isprintable():
        raise row.fault(field, f"{id!r} cannot name a task", "use letters and digits")
    return name


def folder_of(
    format: str,
    row: Row,
    name: str,
    options: Options,
    table: tuple[str, Mapping[str, Any]],
    files: Mapping[str, str | bytes],
    used: Sequence[str],
    tier: str = "core",
) -> Folder:
    """A task of the kind and settings in `table`; every field of the row but `used` goes into its record."""
    kind, settings = table
    pool = {
        "key": f"{options.pack}/{name}",
        "version": "1.0.0",
        "kind": kind,
        "split": options.split,
        "tier": tier,
        "cluster": name,
        "licence": options.licence,
        "provenance": f"{format}: {row.file} row {row.number} sha256:{row.sha256}",
        kind: dict(settings),
    }
    extra = {key: value for key, value in row.data.items() if key not in used}
    record = {"format": format, "file": row.file, "sha256": row.sha256, "row": row.number, "extra": extra}
    bodies = {name: body.encode() if isinstance(body, str) else body for name, body in files.items()}
    bodies[RECORD] = json.dumps(record, indent=1, sort_keys=True).encode()
    return Folder(pool, {"schema_version": "1.4", "task": {"name": pool["key"]}}, bodies)
