"""`appliance task quarantine`: take a task out of use until it was looked at."""

from __future__ import annotations

from pathlib import Path

import click

from appliance.cli.moves import carry_out, options


@click.command("quarantine")
@options(reason_required=True)
@click.option("--alarm", default="", help="The alarm or review item that it is about.")
def command(
    tasks: tuple[str, ...], packs: tuple[Path, ...], reason: str, name: str, as_json: bool, alarm: str
) -> None:
    """Take TASKS out of use at once. They come back by a new battery and an approval."""
    carry_out(
        tasks, packs, lambda *_: ("quarantined",), name=name, reason=reason, as_json=as_json, alarm=alarm
    )
