"""What the verbs share that move tasks from one review state to another."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.clean import clean_line
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.nouns import Task
    from appliance.pool.record import Change, State
    from appliance.pool.states import Moved

packs_option = click.option(
    "--pack",
    "packs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A pack folder; default: what ships.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_name = click.option("--as", "name", default="", help="Your name on the record; default: your account's.")
Decorated = Callable[..., Any]


def options(reason_required: bool) -> Callable[[Decorated], Decorated]:
    """TASKS, --pack, --reason, --as and --json."""

    def decorate(function: Decorated) -> Decorated:
        reason = click.option("--reason", required=reason_required, default="", help="Why; kept on record.")
        for option in (json_option, _name, reason, packs_option):
            function = option(function)
        return click.argument("tasks", nargs=-1, required=True)(function)

    return decorate


def carry_out(
    references: Sequence[str],
    packs: Sequence[Path],
    through: Callable[[State, Task], Sequence[State]],
    *,
    name: str,
    reason: str,
    as_json: bool,
    alarm: str = "",
) -> None:
    """Move each task through the states that `through` makes of its present one: all of the tasks, or none."""
    from appliance.paths import from_environment
    from appliance.pool import rules, states
    from appliance.store import Store
    from appliance.tasks import find_task

    tasks = [find_task(reference, packs or None) for reference in references]
    if reason and not reason.strip():
        raise UsageError("the reason is blank", remedy="say why in --reason")
    paths, actor = from_environment(os.environ), os.getuid()
    called, why = name.strip() or rules.login(actor), reason.strip()

    def moved_one(store: Store, task: Task) -> Moved:
        steps = through(states.state_of(store, task), task)
        now = time.time()
        return states.move(store, task, steps, actor=actor, name=called, reason=why, now=now, alarm=alarm)

    with Store(paths.store, paths.objects) as store, store.together():
        moved = [moved_one(store, task) for task in tasks]
    _tell(moved, as_json)


def _tell(moved: Sequence[Moved], as_json: bool) -> None:
    if as_json:
        rows = [{"task": one.steps[-1].task_key, "state": one.state, "steps": _steps(one)} for one in moved]
        click.echo(json.dumps({"tasks": rows}))
        return
    for one in moved:
        for step in one.steps:
            click.echo(line(step))


def _steps(one: Moved) -> list[dict[str, Any]]:
    return [without_files(step) for step in one.steps]


def without_files(change: Change) -> dict[str, Any]:
    """A record as plain data without the list of its files."""
    return {name: value for name, value in change.to_json().items() if name != "files"}


def line(change: Change) -> str:
    """A record on one line."""
    from appliance.pool.rules import approvals_wanted

    where = f"{change.before} -> {change.after}"
    if change.before == change.after:
        count, wanted = len(change.approvals), approvals_wanted(change.split)
        where = f"{change.after}, approved by {count} of {wanted}"
    told = f"{change.task_key} {change.version}  {where}  by {change.name} (uid {change.actor})"
    told += f"  battery {change.evidence}" if change.evidence is not None else ""
    told += f"  alarm {change.alarm}" if change.alarm else ""
    return clean_line(told + (f"  {change.reason}" if change.reason else ""))
