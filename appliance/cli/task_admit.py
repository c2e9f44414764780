"""`appliance task admit`: the battery of checks that a task passes before it is used."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from appliance.clean import clean_line

STATES = {"passed": "ok", "failed": "FAILED", "not_applicable": "-", "not_run": "not run"}


@click.command("admit")
@click.argument("tasks", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every task of the packs.")
@click.option(
    "--pack",
    "packs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A pack folder; default: what ships.",
)
@click.option("--only", default="", metavar="V1,V5", help="Only these checks; such evidence admits nothing.")
@click.option("--again", is_flag=True, help="Also tasks whose evidence is of this content and verifier.")
@click.option("--verbose", "-v", is_flag=True, help="Print every check of every task.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    context: click.Context,
    tasks: tuple[str, ...],
    every: bool,
    packs: tuple[Path, ...],
    only: str,
    again: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Run the admission battery on TASKS, keep the evidence, and say what is refused and why.

    \b
    Examples:
      appliance task admit starter/clamp
      appliance task admit --pack packs/mine --all
    """
    from appliance.admission import battery, duplicates
    from appliance.cli.task import all_tasks, chosen_tasks
    from appliance.judge import Judge
    from appliance.paths import from_environment
    from appliance.store import Store
    from appliance.yard import Yard

    names = battery.chosen(only)
    chosen = chosen_tasks(tasks, every, packs)
    paths = from_environment(os.environ)
    beside = {task.key: task for task in (*all_tasks(()), *all_tasks(packs), *chosen)}
    index = duplicates.Index(map(duplicates.fingerprint, beside.values())) if "V12" in names else None
    records = []
    with (
        Store(paths.store, paths.objects) as store,
        Yard(paths, warm=True) as yard,
        ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as threads,
    ):
        judge = Judge(yard)
        for task in chosen:
            last = None if again or only else battery.current(store, task)
            if last is None:
                base = store.base_passes(task.key, task.task_hash)
                subject = battery.Subject(task, yard, judge, threads, index, base)
                record = battery.examine(subject, names)
                identity = battery.keep(store, record, now=time.time(), actor=os.getuid())
            else:
                record, identity = last["record"], last["id"]
            records.append({**record, "evidence": identity, "known": last is not None})
            for line in () if as_json else _lines(records[-1], verbose or len(chosen) == 1):
                click.echo(line)
    refused = [record["task"] for record in records if not record["ok"]]
    if as_json:
        click.echo(json.dumps({"ok": not refused, "admitted": len(records) - len(refused), "tasks": records}))
    else:
        click.echo(f"{len(records)} tasks examined, {len(refused)} refused")
    if refused:
        context.exit(1)


def _lines(record: Mapping[str, Any], whole: bool) -> Iterator[str]:
    failed = [check for check in record["checks"] if check["state"] == "failed"]
    word = "refused" if failed else "ok"
    known = ", as examined before" if record["known"] else ""
    yield f"{word:<8} {clean_line(record['task'])} (evidence {record['evidence']}{known})"
    for check in record["checks"]:
        if whole or check["state"] == "failed":
            told = check["reason"] or numbers(check["measured"])
            head = f"  {check['id']:<4} {check['name']:<27} {STATES[check['state']]:<8}"
            yield f"{head} {clean_line(told)}".rstrip()
            if check["remedy"] and check["state"] != "passed":
                yield f"       remedy: {clean_line(check['remedy'])}"
            for one in check["measured"].get("survivors", ()):
                where = f"{one['file']}:{one['line']} {one['operator']}"
                yield "       survived: " + clean_line(f"{where}: {one['before']} -> {one['after']}")


def numbers(measured: Mapping[str, Any]) -> str:
    """The numbers of a check in one line; lists by their length, tables by their entries."""
    return ", ".join(f"{name.replace('_', ' ')} {_short(value)}" for name, value in measured.items())


def _short(value: Any) -> str:
    match value:
        case Mapping():
            return "(" + ", ".join(f"{name} {_short(one)}" for name, one in value.items()) + ")"
        case list() | tuple() if all(isinstance(one, str) for one in value) and value:
            return " ".join(value)
        case list() | tuple():
            return str(len(value))
    return str(value)
