"""Versions a.b.c of a task: what must be raised when it changes, and what its history is worth afterwards.

a: the statement or the interface changed, and what was measured says nothing any more. b: hidden tests or the oracle
changed, and it says little. c: everything else.
"""

from __future__ import annotations

from appliance.errors import TaskError
from appliance.pool.record import Change

RESET, FADED, KEPT = 0.0, 0.25, 1.0
_LEVEL = {"public": 0, "environment": 0, "interface": 0, "hidden": 1, "judging": 1}
"""Which of the three numbers a part of the task raises; all else raises the last."""


def numbers(version: str) -> tuple[int, int, int]:
    """The three numbers of a version that has the form a.b.c."""
    a, b, c = (int(part) for part in version.split("."))
    return a, b, c


def changed_parts(old: Change, new: Change) -> tuple[str, ...]:
    """The parts of `hashes` that differ, the weightiest first."""
    differing = (name for name in _LEVEL if old.hashes.get(name) != new.hashes.get(name))
    return tuple(sorted(differing, key=lambda name: _LEVEL[name]))


def wanted(old: Change, new: Change) -> str:
    """The least version that content changed like this may carry; the old one where nothing changed."""
    if old.task_hash == new.task_hash:
        return old.version
    parts, found = changed_parts(old, new), list(numbers(old.version))
    level = _LEVEL[parts[0]] if parts else 2
    return ".".join(str(n) for n in (*found[:level], found[level] + 1, *([0] * (2 - level))))


def check(old: Change, new: Change) -> None:
    """TaskError, with the number it should have, for a version that was not raised as the change asks."""
    least = wanted(old, new)
    if numbers(new.version) < numbers(least):
        what = ", ".join(changed_parts(old, new)) or "other files"
        raise TaskError(
            f"{new.task_key}: field 'version' of pool.toml is {new.version!r}, but what was approved as"
            f" {old.version} changed since ({what})",
            remedy=f'write version = "{least}"',
        )


def weights_of_history(old: str, new: str) -> float:
    """What passes and fails measured at version `old` count at version `new`: nothing, a quarter, or all."""
    before, after = numbers(old), numbers(new)
    if before[0] != after[0]:
        return RESET
    return FADED if before[1] != after[1] else KEPT
