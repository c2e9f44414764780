"""`appliance task submit`: hand a task in for review."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from appliance.cli.moves import carry_out, options

if TYPE_CHECKING:
    from appliance.nouns import Task
    from appliance.pool.record import State


@click.command("submit")
@options(reason_required=False)
@click.option("--withdraw", is_flag=True, help="Take them back: they are drafts again.")
def command(
    tasks: tuple[str, ...], packs: tuple[Path, ...], reason: str, name: str, as_json: bool, withdraw: bool
) -> None:
    """Hand TASKS in for review. They must have passed the admission battery as they are now.

    \b
    Examples:
      appliance task admit --pack packs/mine mine/first
      appliance task submit --pack packs/mine mine/first
    """

    def through(state: State, _: Task) -> Sequence[State]:
        if withdraw:
            return ("draft",)
        return ("in_review",) if state == "auto_validated" else ("auto_validated", "in_review")

    carry_out(tasks, packs, through, name=name, reason=reason, as_json=as_json)
