"""Typed comparison of what SQL gave: rows as a bag or a sequence, and the state of a data base.

Integer, real, text, blob and null are different values; `1` is not `1.0` and not `'1'`. Reals are equal to the bit
unless a task states a tolerance. Rows that stand within the tolerance of each other are paired greedily, so a
task must not depend on telling them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance import values
from appliance.dialogue import Broken
from appliance.kinds.sql_worker import folded

Rows = list[list[values.Tree]]


@dataclass(frozen=True, slots=True)
class Rules:
    """How the rows of one task are compared."""

    ordered: bool = False
    names: bool = False
    """Column names count, without regard to case."""
    tolerance: float | None = None
    targets: frozenset[str] = frozenset()
    """The tables that a change may touch."""


def checked_rows(tree: values.Tree) -> Rows:
    """Rows as a worker sends them; Broken for anything else."""
    if type(tree) is not list or not all(type(row) is list and all(map(_is_cell, row)) for row in tree):
        raise Broken("malformed", "rows that are none")
    return tree


def _is_cell(cell: values.Tree) -> bool:
    if cell is None or type(cell) in (int, float, str):
        return True
    if type(cell) is not dict or not ({"$bytes"} == cell.keys() or {"$float"} == cell.keys()):
        return False
    try:
        values.normal(cell)
    except values.ValueFault:
        return False
    return True


def same_rows(expected: Rows, got: Rows, rules: Rules) -> bool:
    """Whether two results are the same under the rules of the task."""
    if len(expected) != len(got):
        return False
    if rules.ordered:
        return all(
            values.compare(one, other, rules.tolerance) for one, other in zip(expected, got, strict=True)
        )
    left = Counter(map(values.dumps, expected))
    right = Counter(map(values.dumps, got))
    missing, extra = left - right, right - left
    if rules.tolerance is None or not missing:
        return not missing
    return _paired(list(missing.elements()), list(extra.elements()), rules.tolerance)


def _paired(expected: Sequence[bytes], got: Sequence[bytes], tolerance: float) -> bool:
    """Whether each row left over has a partner of its own; rows that differ in more than reals are never tried."""
    waiting: dict[bytes, list[values.Tree]] = {}
    for body in sorted(got):
        row = values.loads(body)
        waiting.setdefault(_outline(row), []).append(row)
    for body in sorted(expected):
        row = values.loads(body)
        rest = waiting.get(_outline(row), [])
        found = next(
            (place for place, other in enumerate(rest) if values.compare(row, other, tolerance)), None
        )
        if found is None:
            return False
        del rest[found]
    return True


def _outline(row: Sequence[values.Tree]) -> bytes:
    """The row with its reals blanked."""
    return values.dumps([{} if type(cell) is float else cell for cell in row])


def judge_query(expected: Mapping[str, Any], reply: Mapping[str, Any], rules: Rules) -> str:
    """One word on the rows of a query; `correct` is the only good one."""
    names, rows = reply.get("names"), checked_rows(reply.get("rows"))
    if reply.keys() != {"names", "rows"} or type(names) is not list or not all(type(n) is str for n in names):
        raise Broken("malformed", "not a result")
    if len(names) != len(expected["names"]):
        return "wrong_columns"
    if rules.names and list(map(folded, names)) != list(map(folded, expected["names"])):
        return "wrong_names"
    return "correct" if same_rows(expected["rows"], rows, rules) else "wrong_rows"


def judge_change(expected: Mapping[str, Any], reply: Mapping[str, Any], rules: Rules) -> str:
    """One word on the state that a change left; what it did outside of its targets comes first."""
    state, probes = reply.get("state"), reply.get("probes")
    if reply.keys() != {"state", "probes"} or type(state) is not dict or type(probes) is not list:
        raise Broken("malformed", "not a state")
    wanted = expected["state"]
    for name in sorted(wanted.keys() | state.keys() | rules.targets, key=lambda name: name in rules.targets):
        aside = name not in rules.targets
        if not same_table(wanted.get(name), state.get(name), rules, watched=aside):
            return "outside_target" if aside else "wrong_state"
    return "correct" if _same_probes(expected["probes"], probes, rules) else "wrong_behaviour"


def same_table(expected: values.Tree, got: values.Tree, rules: Rules, *, watched: bool) -> bool:
    """Whether two tables have the same columns and rows; a table that is missing is equal to one that is missing.

    `watched`: and the same indexes and triggers. Of a target, further statements show what they do.
    """
    if expected is None or got is None:
        return expected is got
    if type(got) is not dict or got.keys() != {"kind", "columns", "watchers", "rows"}:
        raise Broken("malformed", "not a table")
    rows = checked_rows(got["rows"])
    parts = ("kind", "columns", "watchers") if watched else ("kind", "columns")
    same = all(values.dumps(expected[part]) == values.dumps(got[part]) for part in parts)
    return same and same_rows(expected["rows"], rows, Rules(tolerance=rules.tolerance))


def _same_probes(expected: Sequence[Any], got: Sequence[Any], rules: Rules) -> bool:
    bag = Rules(tolerance=rules.tolerance)
    if len(expected) != len(got):
        return False
    for one, other in zip(expected, got, strict=True):
        if type(other) is not dict or one.keys() != other.keys():
            return False
        if one["aside"] != other["aside"]:
            return False
        if "rows" in one and not same_rows(one["rows"], checked_rows(other["rows"]), bag):
            return False
        if "rows" not in one and one != other:
            return False
    return True
