"""`appliance task new`: a small sound task of a kind, to be changed into one's own."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("new")
@click.argument("key", metavar="PACK/NAME")
@click.option("--kind", required=True, metavar="KIND", help="function, stdio, sql, config, shell or repo.")
@click.option("--pack", type=click.Path(path_type=Path), help="The folder of the pack; default: ./PACK.")
@click.option("--split", type=click.Choice(["train", "eval"]), default="train", show_default=True)
@click.option("--author", default="", help="Who made it: somebody else must approve it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(key: str, kind: str, pack: Path | None, split: str, author: str, as_json: bool) -> None:
    """Make the task PACK/NAME, and its pack where there is none. It passes `appliance task check` as it stands.

    \b
    Example:
      appliance task new mine/first --kind function
    """
    from appliance.pool.scaffold import scaffold, write_new

    place = write_new(pack or Path(key.partition("/")[0]), scaffold(kind, key, split, author))
    if as_json:
        click.echo(json.dumps({"task": key, "kind": kind, "folder": str(place)}))
        return
    click.echo(f"{place}\nchange its files, then: appliance task admit --pack {place.parent} {key}")
