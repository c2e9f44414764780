"""`appliance run`: what was run and how it went."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click


@click.group()
def command() -> None:
    """List runs and show their reports."""


@command.command("list")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def list_runs(as_json: bool) -> None:
    """List the runs of this installation, newest first."""
    from appliance.daemon.lock import is_held
    from appliance.paths import from_environment
    from appliance.store import Store

    paths = from_environment(os.environ)
    rows, alive = [], is_held(paths)
    if paths.store.exists():
        with Store(paths.store, paths.objects) as store:
            rows = [
                _brief(_true(row, alive), store.evaluations(row["id"]), len(store.updates(row["id"])))
                for row in store.runs()
            ]
    if as_json:
        click.echo(json.dumps({"as_of": time.time(), "runs": rows}))
        return
    if not rows:
        click.echo("no runs yet; start one with: appliance train recipes/starter.toml", err=True)
    for row in rows:
        rates = " → ".join("n/a" if rate is None else f"{100 * rate:.1f} %" for rate in row["pass_rates"])
        click.echo(
            f"{row['id']:<40} {row['state']:<9} {row['updates']:>4} updates   held out {rates or 'no data yet'}"
        )


@command.command("show")
@click.argument("run_id", metavar="RUN")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def show(run_id: str, as_json: bool) -> None:
    """Print the report of RUN, made anew from the store."""
    from appliance.clean import clean_line
    from appliance.daemon.lock import is_held
    from appliance.errors import StoreError
    from appliance.paths import from_environment
    from appliance.report import read_report, write_report
    from appliance.store import Store

    paths = from_environment(os.environ)
    with Store(paths.store, paths.objects) as store:
        row = _true(store.run(run_id), is_held(paths))
    folder = paths.runs / run_id  # not the recorded one: this home may be a copy
    try:
        report = write_report(paths.store, run_id, folder)
    except StoreError as error:
        report = read_report(paths.store, run_id, folder)
        click.echo(f"the files of the report are not made anew: {clean_line(str(error))}", err=True)
    if row["state"] == "died":
        click.echo(f"the run died; go on with: appliance train --resume {clean_line(run_id)}", err=True)
    brief = {"run": run_id, "state": row["state"], "folder": str(folder)}
    click.echo(json.dumps(brief | report.to_json()) if as_json else report.text)


@command.command("summary")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def summary(run_ids: tuple[str, ...], as_json: bool) -> None:
    """Take several RUNs of one recipe (different seeds) together."""
    from dataclasses import asdict

    from appliance.paths import from_environment
    from appliance.reads import Reads
    from appliance.seeds import summarise

    reads = Reads(from_environment(os.environ).store)
    try:
        found = summarise(reads, run_ids)
    finally:
        reads.close()
    click.echo(json.dumps(asdict(found)) if as_json else found.text)


@command.command("verify")
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def verify(run_id: str | None, as_json: bool) -> None:
    """Recompute the chain of events of this installation, and compare it with the copy in RUN's folder (or in all).

    The exit code is 7 when an event was changed, removed or added afterwards.
    """
    from appliance import events
    from appliance.errors import NotFoundError
    from appliance.paths import from_environment
    from appliance.store import Store

    paths = from_environment(os.environ)
    if not paths.store.exists():
        raise NotFoundError(f"no store at {paths.store}", remedy="start a run, or set APPLIANCE_HOME")
    with Store(paths.store, paths.objects) as store:
        runs = [store.run(run_id)["id"]] if run_id else [row["id"] for row in store.runs()]
        chain = store.events()
    count = events.verify(chain)
    copies = {run: events.compare(chain, paths.runs / run / "events.jsonl") for run in runs}
    if as_json:
        click.echo(json.dumps({"ok": True, "events": count, "runs": copies}))
        return
    click.echo(
        f"{count} events, each follows the one before; {sum(copies.values())} also stand in run folders"
    )


def _true(row: dict[str, Any], alive: bool) -> dict[str, Any]:
    """`row` with the state `died` where it says running and no run is going."""
    return row | {"state": "died"} if row["state"] == "running" and not alive else row


def _brief(row: dict[str, Any], evaluations: list[dict[str, Any]], updates: int) -> dict[str, Any]:
    ends = evaluations[:1] + (evaluations[-1:] if len(evaluations) > 1 else [])
    columns = ("id", "state", "created", "finished", "seed", "folder")
    return {key: row[key] for key in columns} | {
        "updates": updates,
        "pass_rates": [end["pass_rate"] for end in ends],
    }
