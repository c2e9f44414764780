"""`appliance metrics`: the queue in numbers, for people's collectors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click


@click.command()
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Replace this file instead of printing; a node exporter's textfile reader takes it as NAME.prom.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
def command(write: Path | None, as_json: bool) -> None:
    """Print what the queue has done lately, as Prometheus' exposition text.

    By class: jobs that wait and run, age of the oldest, seconds of wait, start, run and teardown, leases lost,
    hedges and how many of them won, and the share of attempts that the host failed.
    """
    from appliance.paths import from_environment
    from appliance.queue import figures
    from appliance.queue.client import Queue

    paths = from_environment(os.environ)
    if paths.queue.exists():
        with Queue(paths.queue) as queue:
            found = queue.figures()
    else:
        found = {}
    if as_json:
        click.echo(json.dumps({"classes": {name: _plain(one) for name, one in found.items()}}))
        return
    text = figures.exposition(found)
    if write:
        figures.write(write, text)
    else:
        click.echo(text, nl=False)


def _plain(one: Any) -> dict[str, Any]:
    from appliance.queue.figures import PHASES

    names = (
        "queued",
        "leased",
        "oldest_s",
        "outcomes",
        "lost",
        "hedges",
        "hedge_wins",
        "infrastructure_share",
    )
    return {name: getattr(one, name) for name in names} | {f"{phase}_s": one.times(phase) for phase in PHASES}
