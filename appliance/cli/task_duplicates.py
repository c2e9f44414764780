"""`appliance task duplicates`: tasks of one split that are near-duplicates of tasks of the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from appliance.clean import clean_line


@click.command("duplicates")
@click.option(
    "--pack",
    "packs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A pack folder; default: what ships.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(context: click.Context, packs: tuple[Path, ...], as_json: bool) -> None:
    """List near-duplicates across train and eval; exit code 1 when there are any.

    \b
    Examples:
      appliance task duplicates
      appliance task duplicates --pack packs/mine --pack packs/ours
    """
    from appliance.admission.duplicates import Index, fingerprint
    from appliance.cli.task import all_tasks

    tasks = all_tasks(packs)
    pairs = Index(map(fingerprint, tasks)).pairs()
    if as_json:
        rows = [pair.to_json() for pair in pairs]
        click.echo(json.dumps({"ok": not rows, "tasks": len(tasks), "pairs": rows}))
    else:
        for pair in pairs:
            click.echo(_line(pair.to_json()))
        click.echo(f"{len(tasks)} tasks, {len(pairs)} near-duplicates across splits")
    if pairs:
        context.exit(1)


def _line(row: dict[str, Any]) -> str:
    figures = "  ".join(f"{name} {row[name]:.2f}" for name in ("statement", "gold", "inputs", "words"))
    sides = (
        f"{clean_line(row[side])} ({split})"
        for side, split in zip(("first", "second"), row["splits"], strict=True)
    )
    return f"{' ~ '.join(sides)}: {row['why']}  [{figures}]"
