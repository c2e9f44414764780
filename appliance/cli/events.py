"""`appliance events`: what happened, from the append-only chain."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from appliance.paths import Paths
    from appliance.reads import Reads

POLL_S = 0.25
BLOCK = 1000
"""Events read at once."""


@click.command(name="events")
@click.option("--follow", is_flag=True, help="Go on printing what happens, until interrupted.")
@click.option(
    "--since", type=click.IntRange(min=0), metavar="ID", help="Only events after this number; 0 is all."
)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Without --since.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per event and line.")
def command(follow: bool, since: int | None, limit: int, as_json: bool) -> None:
    """Print events, the oldest first, one line each: number, time, run, who caused it, and what it was.

    \b
    Examples:
      appliance events
      appliance events --since 120 --json
      appliance events --follow
    """
    from appliance.paths import from_environment

    for row in _events(from_environment(os.environ), follow, since, limit):
        click.echo(json.dumps(row) if as_json else _line(row))


def _events(paths: Paths, follow: bool, since: int | None, limit: int) -> Iterator[dict[str, Any]]:
    from appliance.reads import Reads

    reads = Reads(paths.store)
    try:
        last = since
        if last is None:
            newest = reads.newest_events(limit)
            yield from reversed(newest)
            last = newest[0]["seq"] if newest else 0
        while True:
            for row in _after(reads, last):
                last = row["seq"]
                yield row
            if not follow:
                return
            reads = _news(reads, lambda: Reads(paths.store))
    finally:
        reads.close()


def _after(reads: Reads, last: int) -> Iterator[dict[str, Any]]:
    while rows := reads.events_after(last, BLOCK):
        yield from rows
        last = rows[-1]["seq"]


def _news(reads: Reads, reopen: Callable[[], Reads]) -> Reads:
    """Wait until a writer committed; a view without a writer is opened anew, since it would never change."""
    while not reads.moved():
        time.sleep(POLL_S)
        if reads.frozen:
            reads.close()
            return reopen()
    return reads


def _line(row: dict[str, Any]) -> str:
    from appliance.clean import clean_line
    from appliance.narrate import narrate

    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["time"]))
    run = clean_line(str(row["run_id"]), 60) or "-"
    return f"{row['seq']:>6} {moment} {run} uid {row['actor']}: {narrate(str(row['kind']), row['data'])}"
