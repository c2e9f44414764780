"""`appliance attempt export`: the judged attempts of a run in a foreign format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from appliance.exporters.transcript import Transcript
    from appliance.nouns import Attempt, Task
    from appliance.store import Store


@click.command("export")
@click.argument("format", metavar="FORMAT")
@click.argument("run_id", metavar="RUN")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to make.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(format: str, run_id: str, out: Path, as_json: bool) -> None:
    """Write the judged attempts of RUN as FORMAT: atif (all) or chat (those that passed)."""
    from appliance.drafts import new_folder
    from appliance.exporters import OF_ATTEMPTS, load_format
    from appliance.paths import from_environment
    from appliance.store import Store

    exporter, paths = load_format(format, OF_ATTEMPTS), from_environment(os.environ)
    with Store(paths.store, paths.objects) as store, new_folder(out) as draft:
        tasks = _tasks(store.run(run_id), run_id)
        found = [_transcript(store, row, tasks) for row in store.written(run_id)]
        remarks = exporter.write_attempts(found, draft)
    if as_json:
        click.echo(json.dumps({"out": str(out), "attempts": len(found), "remarks": remarks}))
        return
    for remark in remarks:
        click.echo(remark)


def _tasks(run: Mapping[str, Any], run_id: str) -> Mapping[str, Task]:
    """The tasks of the run by their key, as far as its packs are still there and can be read."""
    from appliance.daemon.embedded import cards_of
    from appliance.errors import ConfigError, NotFoundError, TaskError
    from appliance.pool.library import Library
    from appliance.recipe import recipe_from_json

    try:
        return Library(cards_of(recipe_from_json(run["recipe"], f"the run {run_id}")))
    except (ConfigError, NotFoundError, TaskError) as error:
        click.echo(f"without the texts of tasks: {error.message}", err=True)
        return {}


def _as_tried(attempt: Attempt, tasks: Mapping[str, Task]) -> Task | None:
    """The task of an attempt, where it still is what it was."""
    from appliance.errors import NotFoundError, TaskError

    try:
        task = tasks.get(attempt.task_key)
    except (NotFoundError, TaskError):
        return None
    return task if task and task.task_hash == attempt.task_hash else None


def _transcript(store: Store, row: Mapping[str, Any], tasks: Mapping[str, Task]) -> Transcript:
    from appliance.exporters.transcript import Transcript

    attempt, verdict = store.attempt(row["id"]), store.verdict(row["id"])
    assert verdict is not None
    return Transcript(attempt, verdict, row["text"] or "", row["created"], _as_tried(attempt, tasks))
