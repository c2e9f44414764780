"""`appliance task diff`: what changed in a task since its content was approved, or against another folder."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.clean import clean_line, reveal_text
from appliance.cli.moves import json_option, packs_option
from appliance.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from appliance.nouns import Task
    from appliance.pool.difference import Difference
    from appliance.pool.record import Change


@click.command("diff")
@click.argument("task")
@packs_option
@click.option("--against", default="", metavar="FOLDER|HASH", help="Default: the content approved last.")
@click.option("--hidden", is_flag=True, help="Against a folder: print the text of hidden files too.")
@json_option
def command(task: str, packs: tuple[Path, ...], against: str, hidden: bool, as_json: bool) -> None:
    """Say which files of TASK changed, of which part, and the version that this asks for.

    HASH is the beginning of a task hash that `appliance task history` shows.
    """
    from appliance.pool import difference, record, versions
    from appliance.tasks import find_task, load_task

    found = find_task(task, packs or None)
    now = record.of_task(found, "draft", "draft", time=0, actor=0, name="", reason="")
    folder = Path(against) if against and Path(against).is_dir() else None
    if folder:
        old = record.of_task(load_task(folder), "draft", "draft", time=0, actor=0, name="", reason="")
    else:
        old = _on_record(found, against)
    differences = difference.compare(old.files, now.files)
    wanted = versions.wanted(old, now)
    told: dict[str, Any] = {
        "task": found.key,
        "against": {"task_hash": old.task_hash, "version": old.version},
        "task_hash": now.task_hash,
        "version": now.version,
        "wanted_version": wanted,
        "too_low": versions.numbers(now.version) < versions.numbers(wanted),
        "files": [asdict(one) for one in differences],
    }
    texts = (
        {one.path: difference.text(folder, Path(found.folder), one) for one in _shown(differences, hidden)}
        if folder
        else {}
    )
    if as_json:
        click.echo(json.dumps({**told, "text": texts}))
        return
    _print(told, texts)


def _shown(differences: tuple[Difference, ...], hidden: bool) -> list[Difference]:
    return [one for one in differences if hidden or one.part != "hidden"]


def _on_record(task: Task, digest: str) -> Change:
    """The record with the content that is asked for, the last approved one of nothing."""
    from appliance.paths import from_environment
    from appliance.pool import rules, states
    from appliance.store import Store

    paths = from_environment(os.environ)
    with Store(paths.store, paths.objects) as store:
        past = states.history(store, task)
    if not digest:
        approved = rules.last_approved(past)
        if approved is None:
            remedy = "name a folder, or a hash of its history, in --against"
            raise NotFoundError(f"no content of {task.key} was approved yet", remedy=remedy)
        return approved
    alike = {one.task_hash: one for one in past if one.task_hash.startswith(digest)}
    if len(alike) > 1:
        raise UsageError(
            f"{digest!r} begins {len(alike)} task hashes of {task.key}", remedy="write more of it"
        )
    if not alike:
        remedy = f"appliance task history {task.key} shows them"
        raise NotFoundError(
            f"{digest!r} is no folder and no task hash on record of {task.key}", remedy=remedy
        )
    return next(iter(alike.values()))


def _print(told: dict[str, Any], texts: dict[str, list[str]]) -> None:
    for row in told["files"]:
        click.echo(f"{row['what']:<8} {row['part']:<12} {clean_line(row['path'])}")
    for lines in texts.values():
        for text in lines:
            click.echo(reveal_text(text))
    old, count = told["against"], len(told["files"])
    click.echo(
        f"{count} files differ between {old['task_hash'][:12]} ({old['version']}) and {told['task_hash'][:12]}"
    )
    if told["too_low"]:
        click.echo(
            f"the version is {told['version']}; this change asks for at least {told['wanted_version']}"
        )
