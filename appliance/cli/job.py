"""`appliance job`: the queue, one job at a time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from appliance.queue.client import Queue

JSON_HELP = "Print one JSON object on stdout and nothing else there."
STATES = ("queued", "leased", "done", "failed", "cancelled", "expired")


@click.group()
def command() -> None:
    """List and show jobs; cancel them, or queue them again."""


@command.command("list")
@click.option("--class", "class_", metavar="CLASS", help="Only this class, as `judge` or `attempt`.")
@click.option("--state", type=click.Choice(STATES), help="Only this state.")
@click.option("--group", help="Only this group: a run's id.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows at most.")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def list_jobs(class_: str | None, state: str | None, group: str | None, limit: int, as_json: bool) -> None:
    """List jobs, newest first."""
    from appliance.clean import clean_line

    with _queue() as queue:
        found = queue.jobs(class_, state, group, limit) if queue else []
        counts = queue.counts() if queue else {}
    if as_json:
        click.echo(
            json.dumps({"as_of": time.time(), "jobs": [_brief(job) for job in found], "counts": counts})
        )
        return
    if not found:
        click.echo("no job matches" if counts else "no jobs yet", err=True)
    for job in found:
        tail = clean_line(f"{job.group} {job.error}", 100)
        click.echo(
            f"{job.id:<9} {job.class_:<12} {job.state:<9} try {job.attempts}/{job.max_attempts}  {tail}"
        )


@command.command("show")
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def show(job_id: str, as_json: bool) -> None:
    """Show one job: what it is, and every attempt at it that has ended."""
    from appliance.clean import clean_text

    with _queue() as queue:
        queue = _there(queue, job_id)
        job, history = queue.job(job_id), queue.history(job_id)
    if as_json:
        click.echo(json.dumps({"job": asdict(job), "attempts": history}))
        return
    for name, value in asdict(job).items():
        if value not in (None, "", {}):
            shown = json.dumps(value) if isinstance(value, dict) else str(value)
            click.echo(f"{name.rstrip('_'):<13}{clean_text(shown, 2000)}")
    for row in history:
        why = clean_text(f"{row['error_kind']} {row['error']}", 500)
        click.echo(
            f"attempt {row['attempt']}: {row['outcome']} after {row['finished'] - row['started']:.2f} s {why}"
        )


@command.command("cancel")
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def cancel_job(job_id: str, as_json: bool) -> None:
    """Cancel one job. Whoever works on it is told, and what it reports is refused."""
    from appliance.queue.requeue import cancel

    changed = _order("job.cancel", job_id, lambda queue: cancel(queue, job_id))
    _tell(job_id, "cancelled", changed, as_json, "has ended already")


@command.command("requeue")
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
def requeue_job(job_id: str, as_json: bool) -> None:
    """Queue a failed, cancelled or expired job again."""
    from appliance.queue.requeue import requeue

    changed = _order("job.requeue", job_id, lambda queue: requeue(queue, job_id))
    _tell(job_id, "queued", changed, as_json, "is in the queue already")


def _order(verb: str, job_id: str, direct: Callable[[Queue], bool]) -> bool:
    """Have the daemon do it, which records who asked; without one, do it to the queue file."""
    from appliance.cli.contact import daemon_socket
    from appliance.control import ask
    from appliance.paths import from_environment

    path = daemon_socket(from_environment(os.environ))
    if path:
        return bool(ask(path, verb, {"job": job_id})["changed"])
    with _queue() as queue:
        return direct(_there(queue, job_id))


def _tell(job_id: str, state: str, changed: bool, as_json: bool, otherwise: str) -> None:
    if as_json:
        click.echo(json.dumps({"job": job_id, "changed": changed}))
    else:
        click.echo(f"{job_id} {'is ' + state if changed else otherwise}")


@contextmanager
def _queue() -> Iterator[Queue | None]:
    """The queue of this installation; None when nothing was ever queued: looking must not make a file."""
    from appliance.paths import from_environment
    from appliance.queue.client import Queue

    path = from_environment(os.environ).queue
    if not path.exists():
        yield None
        return
    with Queue(path) as queue:
        yield queue


def _there(queue: Queue | None, job_id: str) -> Queue:
    from appliance.errors import NotFoundError

    if queue is None:
        raise NotFoundError(f"no job {job_id!r}: nothing was ever queued", remedy="appliance job list")
    return queue


def _brief(job: Any) -> dict[str, Any]:
    names = ("id", "class_", "group", "state", "attempts", "max_attempts", "submitted", "started", "finished")
    found = {name.rstrip("_"): getattr(job, name) for name in names}
    return found | {"error_kind": job.error_kind, "error": job.error}
