"""`appliance run`: what is run, and how it went."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click

from appliance.cli.contact import ask_daemon

JSON_HELP = "Print one JSON object on stdout and nothing else there."


@click.group()
def command() -> None:
    """Start, steer and list runs; show their reports."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def list_runs(as_json: bool) -> None:
    """List the runs of this installation, newest first."""
    from appliance.daemon.lock import holder
    from appliance.paths import from_environment
    from appliance.reads import Reads

    paths = from_environment(os.environ)
    rows, who = [], holder(paths)
    if paths.store.exists():
        reads = Reads(paths.store)
        try:
            with reads.consistent():
                rows = [_brief(_true(row, who), reads) for row in reads.runs()]
        finally:
            reads.close()
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
    if (who is None or who.kind != "daemon") and (waiting := [r for r in rows if r["state"] == "queued"]):
        click.echo(f"{len(waiting)} queued; no daemon runs to carry them out: appliance daemon", err=True)


@command.command("show")
@click.argument("run_id", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def show(run_id: str, as_json: bool) -> None:
    """Print the report of RUN, made anew from the store."""
    from appliance.clean import clean_line
    from appliance.daemon.lock import holder
    from appliance.errors import StoreError
    from appliance.narrate import go_on
    from appliance.paths import from_environment
    from appliance.reads import Reads
    from appliance.report import read_report, write_report

    paths = from_environment(os.environ)
    reads = Reads(paths.store)
    try:
        row = _true(reads.run(run_id), holder(paths))
    finally:
        reads.close()
    folder = paths.runs / run_id  # not the recorded one: this home may be a copy
    try:
        report = write_report(paths.store, run_id, folder)
    except StoreError as error:
        report = read_report(paths.store, run_id, folder)
        click.echo(f"the files of the report are not made anew: {clean_line(str(error))}", err=True)
    if row["state"] == "died":
        click.echo(f"the run died; go on with: {go_on(row)}", err=True)
    brief = {"run": run_id, "state": row["state"], "folder": str(folder)}
    click.echo(json.dumps(brief | report.to_json()) if as_json else report.text)


@command.command("summary")
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
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
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def verify(run_id: str | None, as_json: bool) -> None:
    """Recompute the chain of events and the ledger of verdicts of this installation.

    The events are compared with the copy in RUN's folder (or in all), each verdict with its entry in the ledger. The
    exit code is 7 when one was changed, removed or added afterwards.
    """
    from appliance import events, ledger
    from appliance.errors import IntegrityError, NotFoundError
    from appliance.paths import from_environment
    from appliance.store import Store

    paths = from_environment(os.environ)
    if not paths.store.exists():
        raise NotFoundError(f"no store at {paths.store}", remedy="start a run, or set APPLIANCE_HOME")
    with Store(paths.store, paths.objects) as store:
        runs = [store.run(run_id)["id"]] if run_id else [row["id"] for row in store.runs()]
        chain, entries, misfits = store.events(), store.entries(), store.misfits()
    count = events.verify(chain)
    verdicts = ledger.verify(entries)
    if misfits:
        raise IntegrityError(
            f"the verdict of attempt {misfits[0]} is not the one in the ledger",
            remedy="compare with a backup",
        )
    copies = {run: events.compare(chain, paths.runs / run / "events.jsonl") for run in runs}
    if as_json:
        click.echo(json.dumps({"ok": True, "events": count, "verdicts": verdicts, "runs": copies}))
        return
    click.echo(
        f"{count} events and {verdicts} verdicts, each follows the one before;"
        f" {sum(copies.values())} events also stand in run folders"
    )


# orders to the daemon


@command.command("start")
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--seed", type=click.IntRange(min=0, max=2**31 - 1), help="Beats the seed of the recipe.")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def start(recipe: Path, seed: int | None, as_json: bool) -> None:
    """Have the daemon carry out RECIPE after the runs that wait; prints the run's id at once."""
    from appliance.recipe import load_recipe

    resolved, origins = load_recipe(recipe.absolute(), seed=seed)
    args = {"recipe": resolved.to_json(), "origins": dict(origins.of)}
    otherwise = "start one (appliance daemon), or run it here: appliance train RECIPE"
    answer = ask_daemon("run.start", args, otherwise=otherwise)
    if as_json:
        click.echo(json.dumps(answer))
        return
    click.echo(answer["run"])
    before = f"after {answer['ahead']} other" if answer["ahead"] else "next"
    click.echo(f"queued, {before}; watch it with: appliance tui, or appliance events --follow", err=True)


@command.command("pause")
@click.argument("run_id", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def pause(run_id: str, as_json: bool) -> None:
    """Pause RUN: it ends the batch at hand and waits, with its model loaded and at its place in the line."""
    _order("run.pause", {"run": run_id}, as_json)


@command.command("resume")
@click.argument("run_id", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def resume(run_id: str, as_json: bool) -> None:
    """Go on with RUN: at once when it is paused, else it is queued to go on from its last checkpoint."""
    _order("run.resume", {"run": run_id}, as_json)


@command.command("stop")
@click.argument("run_id", metavar="RUN")
@click.option("--now", is_flag=True, help="Do not wait for the step at hand; what it did is done anew later.")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def stop(run_id: str, now: bool, as_json: bool) -> None:
    """Stop RUN cleanly; `run resume` goes on from its last checkpoint."""
    _order("run.stop", {"run": run_id, "now": now}, as_json)


def _order(verb: str, args: dict[str, Any], as_json: bool) -> None:
    otherwise = "start one (appliance daemon); `appliance train --resume RUN` goes on without it"
    answer = ask_daemon(verb, args, otherwise=otherwise)
    if as_json:
        click.echo(json.dumps(answer))
    else:
        click.echo(f"{answer['run']} is {'' if answer['changed'] else 'already '}{answer['state']}")


def _true(row: dict[str, Any], who: Any) -> dict[str, Any]:
    """`row` with the state `died` where it says running and nobody carries runs out."""
    return row | {"state": "died"} if row["state"] == "running" and who is None else row


def _brief(row: dict[str, Any], reads: Any) -> dict[str, Any]:
    rates = [rate for _, rate in reads.pass_rates(row["id"])]
    columns = ("id", "state", "created", "finished", "seed", "folder")
    return {key: row[key] for key in columns} | {
        "updates": len(reads.updates(row["id"])),
        "pass_rates": rates[:1] + (rates[-1:] if len(rates) > 1 else []),
    }
