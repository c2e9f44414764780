"""`appliance jailer`: the process that starts jails for others."""

from __future__ import annotations

import os
from pathlib import Path

import click

from appliance.cli.numbers import FiniteRange


@click.command(name="jailer")
@click.option(
    "--socket",
    "path",
    type=click.Path(path_type=Path),
    help="Where to listen. [default: run/jailer.sock below APPLIANCE_HOME, or in the runtime folder]",
)
@click.option(
    "--max-jails", type=click.IntRange(1, 900), default=64, show_default=True, help="Jails at once."
)
@click.option(
    "--max-sessions", type=click.IntRange(0, 900), default=256, show_default=True, help="Sessions at once."
)
@click.option(
    "--memory-mb",
    type=click.IntRange(1, 1 << 20),
    default=1024,
    show_default=True,
    help="For what comes with requests and goes with answers, MiB.",
)
@click.option(
    "--grace",
    type=FiniteRange(0, 3600),
    default=5.0,
    show_default=True,
    help="Seconds that running jails are given at the end.",
)
@click.option("--warm", is_flag=True, help="Keep jails ready, forked from a preloaded interpreter.")
def command(
    path: Path | None, max_jails: int, max_sessions: int, memory_mb: int, grace: float, warm: bool
) -> None:
    """Start jails for every process that may write to the socket: its owner, root, and the socket's group.

    It runs until it gets SIGTERM or an interrupt, and then ends with exit code 0. A jail or a session ends with the
    connection of the client that asked for it. Beyond --max-jails, --max-sessions or --memory-mb a request is refused
    with a time to try again, never queued.
    What a predecessor that crashed left behind is removed at the start.
    """
    from appliance.paths import from_environment
    from appliance.sandbox.jailer import Bounds, serve
    from appliance.sandbox.seat import default_path

    paths = from_environment(os.environ)
    bounds = Bounds(max_jails, max_sessions, memory_mb, grace)
    if path is None:
        path = default_path(os.environ)
        # Its place is ours to make; one that was given and is not there may be a mistake.
        path.parent.mkdir(parents=True, exist_ok=True)
    serve(paths, path, bounds, warm=warm)
