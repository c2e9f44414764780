"""What of Harbor's `task.toml` counts here: the name, and the limits that a submission must keep.

Keys that we do not know are left alone. One that we know and cannot honour is refused, because a limit that is
written down and not held is worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appliance.errors import TaskError

_LIMITS = {
    "wall_s": ("verifier", "timeout_sec"),
    "memory_mb": ("environment", "memory_mb"),
    "disk_mb": ("environment", "storage_mb"),
}
"""Budget to the table and key of `task.toml` that is the most it may be."""
_OLD = {"memory": "memory_mb", "storage": "storage_mb"}


def check(where: str, manifest: Mapping[str, Any], key: str, image: str) -> None:
    """TaskError unless the manifest found at `where` fits the task `key`, which starts from `image` or names none."""
    name = _table(where, manifest, "task").get("name", key)
    if name != key:
        raise TaskError(f"{where}: field 'task.name': {name!r} is not the key {key!r} of pool.toml")
    environment = _table(where, manifest, "environment")
    for old, new in _OLD.items():
        if old in environment:
            remedy = f"write {new} = a number of mebibytes"
            raise TaskError(f"{where}: field 'environment.{old}' is not read", remedy=remedy)
    if "docker_image" in environment and not image:
        raise TaskError(
            f"{where}: field 'environment.docker_image' is not enough: nothing is fetched",
            remedy="appliance image import its archive, and write its digest as `image` into pool.toml",
        )


def budgets(
    where: str, manifest: Mapping[str, Any], asked: Mapping[str, float], default: Mapping[str, float]
) -> dict[str, float]:
    """The budgets of a task: what pool.toml asks for, else the default, and never more than the manifest allows.

    TaskError for a limit that is no number above 0, and for a budget that was asked for above its limit.
    """
    found = {**default, **asked}
    for budget, (table, name) in _LIMITS.items():
        limit = _limit(where, manifest, table, name)
        if limit is None or found[budget] <= limit:
            continue
        if budget in asked:
            raise TaskError(
                f"{where}: field '{table}.{name}' is {limit:g}, but pool.toml [budgets] has"
                f" {budget} = {asked[budget]:g}",
                remedy="raise the limit or lower the budget",
            )
        found[budget] = limit
    return found


def _limit(where: str, manifest: Mapping[str, Any], table: str, name: str) -> float | None:
    value = _table(where, manifest, table).get(name)
    if value is None:
        return None
    if type(value) not in (int, float) or not value > 0:
        raise TaskError(f"{where}: field '{table}.{name}' is {value!r}", remedy="write a number above 0")
    return float(value)


def _table(where: str, manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = manifest.get(name, {})
    if not isinstance(table, dict):
        raise TaskError(f"{where}: {name!r} is not a table", remedy=f"write [{name}] and its keys below")
    return table
