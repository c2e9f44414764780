"""`appliance task export`: tasks in a foreign format."""

from __future__ import annotations

import json
from pathlib import Path

import click

from appliance.clean import clean_line


@click.command("export")
@click.argument("format", metavar="FORMAT")
@click.argument("tasks", nargs=-1, metavar="TASK...")
@click.option("--all", "every", is_flag=True, help="Export every task of the packs.")
@click.option("--pack", "packs", type=click.Path(path_type=Path), multiple=True, help="A pack folder.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to make.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    format: str, tasks: tuple[str, ...], every: bool, packs: tuple[Path, ...], out: Path, as_json: bool
) -> None:
    """Write TASKs as FORMAT: chat, harbor or swe-bench. What is written holds the gold solutions."""
    from appliance.drafts import new_folder
    from appliance.errors import UsageError
    from appliance.exporters import OF_TASKS, load_format
    from appliance.tasks import find_task, load_pack, shipped_packs

    if every == bool(tasks):
        raise UsageError("name the tasks to export, or give --all", remedy="appliance task list")
    exporter = load_format(format, OF_TASKS)
    folders = list(packs) or list(shipped_packs().values())
    if every:
        chosen = [task for folder in folders for task in load_pack(folder)]
    else:
        chosen = [find_task(reference, packs or None) for reference in tasks]
    with new_folder(out) as draft:
        remarks = exporter.write_tasks(chosen, draft)
    if as_json:
        click.echo(json.dumps({"out": str(out), "tasks": len(chosen), "remarks": remarks}))
        return
    for remark in remarks:
        click.echo(clean_line(remark, 300))
