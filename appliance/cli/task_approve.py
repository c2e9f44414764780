"""`appliance task approve`: agree to a task that another person made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from appliance.cli.moves import carry_out, options
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.nouns import Task
    from appliance.pool.record import State


@click.command("approve")
@options(reason_required=False)
@click.option("--hold", is_flag=True, help="Approve, but do not put into use yet; `approve` again does.")
def command(
    tasks: tuple[str, ...], packs: tuple[Path, ...], reason: str, name: str, as_json: bool, hold: bool
) -> None:
    """Approve TASKS that are in review, or let them out of quarantine after a new battery.

    The author and who submitted a task cannot approve it. A task of the split `eval` needs two people.
    """

    def through(state: State, task: Task) -> Sequence[State]:
        if state in ("draft", "auto_validated"):
            remedy = f"appliance task submit {task.key}"
            raise UsageError(f"{task.key} is {state}: nobody handed it in for review", remedy=remedy)
        if state == "in_review":
            return ("approved",) if hold else ("approved", "active")
        return ("active",)

    carry_out(tasks, packs, through, name=name, reason=reason, as_json=as_json)
