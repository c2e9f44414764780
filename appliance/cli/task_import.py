"""`appliance task import`: a pack made of the rows of a foreign format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from appliance.clean import clean_line

_SHOWN = 10


@click.command("import")
@click.argument("format", metavar="FORMAT")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--pack", "pack", type=click.Path(path_type=Path), required=True, help="The folder to make.")
@click.option("--name", help="The name of the pack; default: that of its folder.")
@click.option("--split", type=click.Choice(["train", "eval"]), default="train", show_default=True)
@click.option("--licence", default="unknown", show_default=True, help="Of the rows.")
@click.option("--repos", type=click.Path(path_type=Path), help="Folder of checkouts, for SWE-bench.")
@click.option("--golds", type=click.Path(path_type=Path), help="Folder of gold solutions, for LiveCodeBench.")
@click.option("--limit", type=click.IntRange(min=1), help="Rows to read at most.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    format: str, source: Path, pack: Path, name: str | None, limit: int | None, as_json: bool, **given: Any
) -> None:
    """Make a pack of SOURCE, which is of FORMAT.

    Nothing of it is run. Rows to be trained on that hold the canary, the statement or the gold of an eval task that
    ships are blocked. What cannot be used here is listed in blocked.jsonl of the pack, with the reason.
    """
    from appliance.admission.contamination import Guard
    from appliance.cli.task import all_tasks
    from appliance.errors import UsageError
    from appliance.importers import load_format
    from appliance.importers.intake import bring_in
    from appliance.importers.row import Options

    name = name or pack.resolve().name
    if not re.fullmatch("[a-z0-9][a-z0-9_-]*", name):
        raise UsageError(f"{name!r} cannot name a pack", remedy="give --name in lower case letters")
    if not given["licence"].strip():
        raise UsageError("the licence is empty", remedy="leave --licence out, or name one")
    found = bring_in(
        load_format(format), source, pack, Options(pack=name, **given), limit, Guard(all_tasks(()))
    )
    if as_json:
        row = {"pack": str(pack), "tasks": list(found.tasks), "examples": found.examples}
        click.echo(json.dumps({**row, "blocked": list(found.blocked)}))
        return
    for blocked in found.blocked[:_SHOWN]:
        click.echo(f"blocked: row {blocked['row']}: {clean_line(blocked['id'], 60)}: {_clean(blocked)}")
    if len(found.blocked) > _SHOWN:
        click.echo(f"… all of them in {pack / 'blocked.jsonl'}")
    click.echo(f"{len(found.tasks)} tasks, {found.examples} conversations, {len(found.blocked)} rows blocked")


def _clean(blocked: dict[str, Any]) -> str:
    return clean_line(blocked["reason"], 200)
