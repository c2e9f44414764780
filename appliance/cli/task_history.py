"""`appliance task history`: who moved a task to which state, at which content, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.clean import clean_line
from appliance.cli.moves import json_option, line, packs_option, without_files
from appliance.errors import IntegrityError

if TYPE_CHECKING:
    from appliance.nouns import Task
    from appliance.pool.record import Change
    from appliance.store import Store


@click.command("history")
@click.argument("task")
@packs_option
@click.option("--write", is_flag=True, help="Add the store's records to CHANGES.jsonl in the task folder.")
@json_option
@click.pass_context
def command(context: click.Context, task: str, packs: tuple[Path, ...], write: bool, as_json: bool) -> None:
    """Print the change records of TASK, the oldest first: those of its folder, then the store's.

    Both chains are recomputed; one that does not hold is said, and the exit code is then 7.
    """
    from appliance.paths import from_environment
    from appliance.pool import record, states
    from appliance.store import Store
    from appliance.tasks import find_task

    found, paths = find_task(task, packs or None), from_environment(os.environ)
    folder = Path(found.folder)
    faults: list[str] = []
    with Store(paths.store, paths.objects) as store:
        _fault(faults, lambda: states.verify(store))
        _fault(faults, lambda: record.read(folder))
        if write and not faults:
            theirs = record.read(folder)
            new = [
                one
                for one in states.stored(store, found.key)
                if not any(record.same(one, old) for old in theirs)
            ]
            record.append(folder, new)
        rows = [("folder", one) for one in _read(faults, lambda: record.lines(folder))]
        rows += [("store", one) for one in _read(faults, lambda: states.stored(store, found.key))]
        state = _state(faults, store, found)
    _print(found, state, rows, faults, as_json)
    if faults:
        context.exit(IntegrityError.exit_code)


def _fault(faults: list[str], check: Callable[[], object]) -> None:
    try:
        check()
    except IntegrityError as error:
        if error.message not in faults:
            faults.append(error.message)


def _read(faults: list[str], read: Callable[[], Sequence[Change]]) -> Sequence[Change]:
    found: list[Change] = []
    _fault(faults, lambda: found.extend(read()))
    return found


def _state(faults: list[str], store: Store, task: Task) -> str:
    from appliance.pool.states import state_of

    found = ["unknown"]
    _fault(faults, lambda: found.append(state_of(store, task)))
    return found[-1]


def _print(
    task: Task, state: str, rows: Sequence[tuple[str, Change]], faults: Sequence[str], as_json: bool
) -> None:
    if as_json:
        records: list[dict[str, Any]] = [{"source": source, **without_files(one)} for source, one in rows]
        told = {"task": task.key, "state": state, "version": task.version, "task_hash": task.task_hash}
        click.echo(json.dumps({**told, "ok": not faults, "faults": faults, "records": records}))
        return
    for source, one in rows:
        when = datetime.fromtimestamp(one.time, UTC).strftime("%Y-%m-%d %H:%M")
        click.echo(f"{when}  {source:<6} {one.task_hash[:12]}  {line(one)}")
    click.echo(f"{task.key} {task.version} is {state} at {task.task_hash[:12]}; {len(rows)} records")
    for fault in faults:
        click.echo(f"broken: {clean_line(fault)}")
