"""`appliance task`: the tasks there are, and whether each can be trusted. Hidden cases are never printed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.clean import clean_line, clean_text
from appliance.cli.lazy import LazyGroup
from appliance.errors import UsageError
from appliance.nouns import Card, Task

if TYPE_CHECKING:
    from appliance.judge import Judge

_packs = click.option(
    "--pack",
    "packs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A pack folder; default: what ships.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


VERBS: dict[str, str] = {
    "admit": "Run the admission battery, and keep its evidence.",
    "approve": "Agree to a task that another person made.",
    "diff": "Say what changed since a task was approved.",
    "duplicates": "List near-duplicates across train and eval.",
    "export": "Write tasks in a foreign format.",
    "generate": "Write variants of a family into a pack.",
    "history": "Print the change records of a task.",
    "index": "Index a pack, so that many tasks open fast.",
    "import": "Make a pack of the rows of a foreign format.",
    "new": "Make a small task of a kind, to be changed.",
    "quarantine": "Take a task out of use until it was looked at.",
    "retire": "Take a task out of use for good.",
    "submit": "Hand a task in for review.",
    "tiers": "Show where each task stands for a run's policy.",
}
"""Verb to help line; the verb `x-y` is the object `command` in `appliance.cli.task_x_y`."""


@click.group(name="task", cls=LazyGroup, verbs=VERBS, prefix="task_")
def command() -> None:
    """List, show and check tasks."""


@command.command("list")
@_packs
@click.option("--split", type=click.Choice(["train", "eval", "canary"]), help="Only this split.")
@_json
def list_tasks(packs: tuple[Path, ...], split: str | None, as_json: bool) -> None:
    """List the tasks of the packs."""
    rows = [_summary(card) for card in _cards(packs) if split in (None, card.split)]
    if as_json:
        click.echo(json.dumps({"tasks": rows}))
        return
    for row in rows:
        click.echo(f"{row['key']:<36} {row['split']:<6} {row['tier']:<5} {row['kind']:<9} {row['cluster']}")
    click.echo(f"{len(rows)} tasks")


@command.command("show")
@click.argument("task")
@_packs
@_json
def show(task: str, packs: tuple[Path, ...], as_json: bool) -> None:
    """Show one task: a key or a folder."""
    from appliance.kinds import load_kind
    from appliance.pool.index import card_of
    from appliance.tasks import find_task

    found = find_task(task, packs or None)
    public, hidden = load_kind(found.kind).totals(found)
    row = {
        **_summary(card_of(found)),
        "entry_point": found.entry_point,
        "folder": found.folder,
        "statement": found.statement,
        "start": found.start,
        "public_cases": public,
        "hidden_cases": hidden,
        "public_hash": found.public_hash,
        "hidden_hash": found.hidden_hash,
        "env_hash": found.env_hash,
        "image": found.image,
        "settings": dict(found.settings),
    }
    if as_json:
        click.echo(json.dumps(row))
        return
    for name in (
        "key",
        "split",
        "tier",
        "kind",
        "cluster",
        "public_cases",
        "hidden_cases",
        "task_hash",
        "env_hash",
        "image",
        "folder",
    ):
        click.echo(f"{name:<13} {clean_line(str(row[name])) or '-'}")
    click.echo(clean_text(f"\n{found.statement}\n\n{found.start}"))


@command.command("check")
@click.argument("tasks", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Check every task of the packs.")
@_packs
@_json
@click.pass_context
def check(
    context: click.Context, tasks: tuple[str, ...], every: bool, packs: tuple[Path, ...], as_json: bool
) -> None:
    """Judge each task's gold solution (reward 1), an empty file and its untouched start (reward 0)."""
    from appliance.judge import Judge
    from appliance.paths import from_environment
    from appliance.yard import Yard

    chosen = chosen_tasks(tasks, every, packs)
    with Yard(from_environment(os.environ), warm=True) as yard, ThreadPoolExecutor(os.cpu_count()) as pool:
        judge = Judge(yard)
        rows = list(pool.map(lambda task: check_task(judge, task), chosen))
    failed = [row for row in rows if not row["ok"]]
    if as_json:
        click.echo(json.dumps({"ok": not failed, "checked": len(rows), "failed": len(failed), "tasks": rows}))
    else:
        _print_checks(rows, failed)
    if failed:
        context.exit(1)


def check_task(judge: Judge, task: Task) -> dict[str, Any]:
    """The verdicts on a task's controls, each with the reward it must have."""
    from appliance.controls import controls_of

    row: dict[str, Any] = {"task": task.key, "ok": True, "controls": {}}
    for name, (artefacts, wanted) in controls_of(task).items():
        verdict = judge.judge(task, artefacts)
        good = verdict.reward == wanted
        row["ok"] = row["ok"] and good
        row["controls"][name] = {
            "ok": good,
            "status": verdict.status,
            "reward": verdict.reward,
            "wanted": wanted,
        }
        if not good:
            row["controls"][name]["evidence"] = list(verdict.evidence)
    return row


def _print_checks(rows: Sequence[dict[str, Any]], failed: Sequence[dict[str, Any]]) -> None:
    for row in failed:
        for name, control in row["controls"].items():
            if not control["ok"]:
                click.echo(
                    f"{row['task']}: {name} got {control['reward']} ({control['status']}), not {control['wanted']}"
                )
                for item in control["evidence"][:3]:
                    click.echo(f"  {json.dumps(item)}")
    click.echo(f"{len(rows)} tasks checked, {len(failed)} failed")


def chosen_tasks(references: Sequence[str], every: bool, packs: tuple[Path, ...]) -> list[Task]:
    from appliance.tasks import find_task

    if every == bool(references):
        raise UsageError("name the tasks to check, or give --all", remedy="appliance task check --all")
    return all_tasks(packs) if every else [find_task(reference, packs or None) for reference in references]


def all_tasks(packs: Iterable[Path]) -> list[Task]:
    from appliance.tasks import load_pack, shipped_packs

    folders = list(packs) or list(shipped_packs().values())
    return [task for folder in folders for task in load_pack(folder)]


def _cards(packs: Iterable[Path]) -> list[Card]:
    from appliance.pool.index import load_cards
    from appliance.tasks import shipped_packs

    folders = list(packs) or list(shipped_packs().values())
    return [card for folder in folders for card in load_cards(folder)]


def _summary(task: Card) -> dict[str, Any]:
    return {
        "key": task.key,
        "split": task.split,
        "tier": task.tier,
        "kind": task.kind,
        "cluster": task.cluster,
        "task_hash": task.task_hash,
    }
