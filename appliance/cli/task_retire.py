"""`appliance task retire`: take a task out of use for good."""

from __future__ import annotations

from pathlib import Path

import click

from appliance.cli.moves import carry_out, options


@click.command("retire")
@options(reason_required=True)
def command(tasks: tuple[str, ...], packs: tuple[Path, ...], reason: str, name: str, as_json: bool) -> None:
    """Take TASKS out of use for good. The key is not used again; the records stay."""
    carry_out(tasks, packs, lambda *_: ("retired",), name=name, reason=reason, as_json=as_json)
