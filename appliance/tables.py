"""Strict tables: a file that people write, checked key by key.

An unknown key is an error that names the file, the key and the nearest known key; so is a missing key, a wrong
type, or a word outside its list. The caller says which error it is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from appliance.errors import ApplianceError

_LISTED = 12
_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


@dataclass(frozen=True, slots=True)
class Field:
    """What one key of a table may hold."""

    kind: type
    required: bool = True
    choices: tuple[str, ...] = ()
    """The only words allowed, when there are any."""
    minimum: float | None = None
    """Numbers must be above this."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A remedy that names the closest known word, or lists the first known ones."""
    names = sorted(known)
    tails = [name for name in names if name.rpartition("/")[2] == word.rpartition("/")[2]]
    close = tails or difflib.get_close_matches(word, names, n=1)
    more = ", .." if len(names) > _LISTED else ""
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names[:_LISTED])}{more}"


def check_table(
    where: str, table: Mapping[str, Any], fields: Mapping[str, Field], error: type[ApplianceError]
) -> None:
    """Raise `error` for the first key of `table` (found at `where`) that breaks `fields`."""
    for key in table:
        if key not in fields:
            raise error(f"{where}: unknown key {key!r}", remedy=nearest(str(key), fields))
    for key, rule in fields.items():
        if key in table:
            _check_value(f"{where}: field {key!r}", table[key], rule, error)
        elif rule.required:
            raise error(f"{where}: field {key!r} is missing", remedy=f"add {key} = {_NAMES[rule.kind]}")


def _check_value(what: str, value: object, rule: Field, error: type[ApplianceError]) -> None:
    accepted = (int, float) if rule.kind is float else (rule.kind,)
    if type(value) not in accepted:
        raise error(f"{what} is not {_NAMES[rule.kind]}", remedy=f"write {_NAMES[rule.kind]}")
    if rule.choices and value not in rule.choices:
        raise error(f"{what}: {value!r} is not allowed", remedy=nearest(str(value), rule.choices))
    if rule.minimum is not None and not value > rule.minimum:  # type: ignore[operator]
        raise error(f"{what}: {value!r} is not above {rule.minimum:g}", remedy="write a larger number")
    if value == "":
        raise error(f"{what} is empty", remedy="write a value")
