"""`appliance alarm`: what monitoring found in runs, and the curves that it watches."""

from __future__ import annotations

import datetime
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from appliance.clean import clean_line

if TYPE_CHECKING:
    from appliance.store import Store

JSON_HELP = "Print one JSON object."
_json = click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
_SPAN = re.compile(r"([1-9][0-9]{0,3})([dhm])")
_SECONDS = {"d": 86400, "h": 3600, "m": 60}
_LEVELS = ("info", "warn", "critical")


@click.group()
def command() -> None:
    """Look at what monitoring found, silence it with a reason, and print the curves that it watches.

    \b
    Examples:
      appliance alarm list
      appliance alarm silence 3 --reason "known: the pack is being rewritten" --until 7d
      appliance alarm curves RUN --by tier
    """


@command.command("list")
@click.option("--run", "run_id", help="Only those of this run.")
@click.option(
    "--level", type=click.Choice(_LEVELS), default="info", show_default=True, help="This one and worse."
)
@click.option("--all", "every", is_flag=True, help="Silenced and closed ones too.")
@_json
def list_alarms(run_id: str | None, level: str, every: bool, as_json: bool) -> None:
    """List open alarms, the worst first. Exit code 1 when a critical one is open."""
    now = time.time()
    with _store() as store:
        rows = [row | {"state": _state(row, now)} for row in store.alarms(run_id)]
    shown = [
        row
        for row in rows
        if (every or row["state"] == "open") and _LEVELS.index(row["level"]) >= _LEVELS.index(level)
    ]
    shown.sort(key=lambda row: (-_LEVELS.index(row["level"]), -row["last"]))
    if as_json:
        click.echo(json.dumps({"alarms": shown}))
    else:
        for row in shown:
            click.echo(_line(row))
        click.echo(f"{len(shown)} alarms", err=True)
    if any(row["level"] == "critical" and row["state"] == "open" for row in shown):
        click.get_current_context().exit(1)


@command.command("show")
@click.argument("identity", type=int, metavar="ID")
@_json
def show(identity: int, as_json: bool) -> None:
    """Show one alarm: what it was found by, what shows it, and what was done."""
    with _store() as store:
        row = _alarm(store, identity)
    if as_json:
        click.echo(json.dumps(row))
        return
    click.echo(_line(row))
    click.echo(f"run {clean_line(row['run_id'])}, update {row['step']}, seen {row['count']} times")
    for name, value in row["snapshot"].items():
        click.echo(f"  {clean_line(name)}: {clean_line(json.dumps(value), 200)}")
    for cause in row["cause"]:
        click.echo(f"  shown by {clean_line(cause)}")
    if row["action"]:
        told = f"done for {row['done']} tasks" if row["done"] else "proposed"
        click.echo(f"action: {row['action']} ({told})")
    if row["reason"]:
        click.echo(f"silenced by uid {row['actor']} until {_day(row['until'])}: {clean_line(row['reason'])}")


@command.command("silence")
@click.argument("identity", type=int, metavar="ID")
@click.option("--reason", required=True, help="Why it is no alarm; kept in the event chain.")
@click.option("--until", required=True, metavar="7d|2026-12-31", help="When it may be raised again.")
@_json
def silence(identity: int, reason: str, until: str, as_json: bool) -> None:
    """Count this alarm, but do not raise it again for its subject until then."""
    from appliance.errors import UsageError

    now = time.time()
    end = _end(until, now)
    if not reason.strip():
        raise UsageError("--reason is empty", remedy="say why it is no alarm")
    with _store() as store, store.together():
        row = _alarm(store, identity)
        if row["state"] == "closed":
            raise UsageError(f"alarm {identity} is closed", remedy="appliance alarm list shows the open ones")
        store.set_alarm(identity, state="silenced", until=end, reason=reason.strip(), actor=os.getuid())
        told = {"alarm": identity, "reason": reason.strip(), "until": end}
        store.append_event(now, row["run_id"], "alarm.silenced", os.getuid(), told)
    _done(
        as_json,
        {"alarm": identity, "state": "silenced", "until": end},
        f"alarm {identity} is silent until {_day(end)}",
    )


@command.command("unsilence")
@click.argument("identity", type=int, metavar="ID")
@_json
def unsilence(identity: int, as_json: bool) -> None:
    """Open a silenced alarm again."""
    from appliance.errors import UsageError

    with _store() as store, store.together():
        row = _alarm(store, identity)
        if row["state"] != "silenced":
            raise UsageError(
                f"alarm {identity} is {row['state']}", remedy="only a silenced one can be opened again"
            )
        store.set_alarm(identity, state="open", until=None)
        store.append_event(time.time(), row["run_id"], "alarm.opened", os.getuid(), {"alarm": identity})
    _done(as_json, {"alarm": identity, "state": "open"}, f"alarm {identity} is open")


@command.command("curves")
@click.argument("run_id", metavar="RUN")
@click.option("--by", type=click.Choice(["task", "tier", "family"]), default="tier", show_default=True)
@_json
def show_curves(run_id: str, by: str, as_json: bool) -> None:
    """Print pass rates over the updates of RUN, from the uniform share of the draw alone."""
    from appliance.alarms.series import Step, curves

    with _store() as store:
        store.run(run_id)
        found = curves([Step.from_json(data) for data in store.steps(run_id)], by)
    if as_json:
        rows = {
            name: [{"update": u, "passes": p, "attempts": n} for u, p, n in points]
            for name, points in found.items()
        }
        click.echo(json.dumps({"run": run_id, "by": by, "curves": rows}))
        return
    for name, points in found.items():
        click.echo(f"{clean_line(name):<28} " + "  ".join(f"u{u} {p}/{n}" for u, p, n in points))
    if not found:
        click.echo("no group was chosen uniformly yet", err=True)


@contextmanager
def _store() -> Iterator[Store]:
    from appliance.paths import from_environment
    from appliance.store import Store

    paths = from_environment(os.environ)
    with Store(paths.store, paths.objects) as store:
        yield store


def _alarm(store: Store, identity: int) -> dict[str, Any]:
    from appliance.errors import NotFoundError

    row = store.alarm(identity)
    if row is None:
        raise NotFoundError(f"there is no alarm {identity}", remedy="appliance alarm list --all shows them")
    return row


def _state(row: Mapping[str, Any], now: float) -> str:
    over = row["state"] == "silenced" and row["until"] is not None and row["until"] <= now
    return "open" if over else str(row["state"])


def _line(row: Mapping[str, Any]) -> str:
    times = f" ({row['count']} times)" if row["count"] > 1 else ""
    head = f"{row['id']:>4} {row['level']:<8} {row['signal']:<3} {clean_line(row['subject']):<32}"
    return f"{head} {clean_line(row['text'], 200)}{times}" + (
        "" if row["state"] == "open" else f" [{row['state']}]"
    )


def _end(until: str, now: float) -> float:
    """Unix seconds of a span such as 7d, or of the start of a day."""
    from appliance.errors import UsageError

    if span := _SPAN.fullmatch(until):
        return now + int(span[1]) * _SECONDS[span[2]]
    try:
        end = datetime.datetime.fromisoformat(until).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--until {until!r} is no time", remedy="write 7d, 12h, 30m or a date") from None
    if end <= now:
        raise UsageError(f"--until {until!r} is over", remedy="write a time to come")
    return end


def _day(moment: float | None) -> str:
    return "" if moment is None else datetime.datetime.fromtimestamp(moment).isoformat(" ", "minutes")


def _done(as_json: bool, row: Mapping[str, Any], told: str) -> None:
    click.echo(json.dumps(row) if as_json else told)
