"""`appliance tui`: watch a run in the terminal."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.brief import Brief


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
    from appliance.tui.app import Reviewer, WatchApp
    from appliance.tui.widgets.glyphs import glyphs_for

    glyphs = glyphs_for(sys.stderr.encoding, os.environ)
    reviewer = Reviewer(os.getuid(), _decide, _statement)
    try:
        # Without the mouse the terminal's own selection works, and moving it over SSH costs nothing.
        WatchApp(source, time.time, glyphs, read_only=read_only, reviewer=reviewer).run(mouse=False)
    finally:
        source.close()


def _decide(item: int, word: str) -> str:
    """Send a verdict to the daemon; without one, say how to give it on the command line."""
    from appliance.cli.contact import ask_daemon

    otherwise = f"appliance review decide {item} {word}"
    told = ask_daemon("review.decide", {"item": item, "word": word}, otherwise=otherwise)
    return f"item {item}: {told['stage']} verdict {told['word']}{'' if told['changed'] else ', as before'}"


def _statement(item: dict[str, Any], recipe: dict[str, Any]) -> str:
    """What the task of a review item asks, from the packs of its run."""
    from appliance.brief import find_brief

    return _asked(find_brief(recipe, item["task_key"], item["task_hash"]))


def _asked(brief: Brief) -> str:
    parts = (brief.note, brief.statement, brief.start)
    return "\n\n".join(part for part in parts if part)
