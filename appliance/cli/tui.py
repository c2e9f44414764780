"""`appliance tui`: watch a run in the terminal."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from appliance.errors import UsageError


@click.command(name="tui")
@click.option(
    "--store", "store", type=click.Path(path_type=Path), help="A store.db; default: this installation's."
)
@click.option(
    "--run", "run_id", metavar="RUN", help="The run to show; default: the newest, also when it changes."
)
@click.option("--read-only", is_flag=True, help="Offer no action that asks a run to change.")
def command(store: Path | None, run_id: str | None, read_only: bool) -> None:
    """Open the terminal UI on a live, finished or copied store. It never touches a run.

    \b
    Examples:
      appliance tui
      appliance tui --run starter-20260101-120000-s0
      appliance tui --store /mnt/backup/store.db --read-only
    """
    from appliance.paths import from_environment
    from appliance.tui.source import Source

    source = Source(store or from_environment(os.environ).store, run_id)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        source.close()
        # Textual reads from stdin and draws on stderr; a redirected one would be filled with drawing codes.
        raise UsageError("tui needs a terminal", remedy="for scripts: appliance run list --json")
    from appliance.tui.app import WatchApp
    from appliance.tui.widgets.glyphs import glyphs_for

    glyphs = glyphs_for(sys.stderr.encoding, os.environ)
    try:
        # Without the mouse the terminal's own selection works, and moving it over SSH costs nothing.
        WatchApp(source, time.time, glyphs, read_only=read_only).run(mouse=False)
    finally:
        source.close()
