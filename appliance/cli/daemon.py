"""`appliance daemon`: the process that carries out runs one after the other."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click


@click.command(name="daemon")
@click.option(
    "--socket",
    "path",
    type=click.Path(path_type=Path),
    help="Where to listen. [default: run/control.sock below APPLIANCE_HOME, or in the runtime folder]",
)
def command(path: Path | None) -> None:
    """Carry out queued runs one after the other, in the foreground, and take orders over a Unix socket.

    One daemon per data folder. SIGTERM or an interrupt drains: the run that is going stops at its last update and goes
    on when a daemon starts again. A second one does not wait. Runs that were going when a daemon died go on too.

    \b
    Examples:
      appliance daemon
      appliance run start recipes/starter.toml
      appliance status
    """
    from appliance.cli.progress import plain
    from appliance.control import default_path
    from appliance.daemon.root import serve
    from appliance.paths import from_environment

    place = (path or default_path(os.environ)).absolute()
    serve(from_environment(os.environ), place, (plain(sys.stderr, time.time),))
