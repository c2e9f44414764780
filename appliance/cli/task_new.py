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
    """Make the task PACK/NAME, and its pack where there is none.

    It passes `appliance task check` as it stands. `appliance task admit`, which a task of your own must pass before it
    can be approved, refuses a second one that was not changed yet: it is a near-duplicate of the first.

    \b
    Example:
      appliance task new mine/first --kind function
    """
    from appliance.errors import UsageError
    from appliance.pool.scaffold import scaffold, write_new
    from appliance.tasks import shipped_packs

    name = key.partition("/")[0]
    if pack is None and name in shipped_packs():
        remedy = f"write another name, or --pack {name} for one of your own that is called so too"
        raise UsageError(f"{name!r} is the name of a pack that ships", remedy=remedy)
    place = write_new(pack or Path(name), scaffold(kind, key, split, author))
    if as_json:
        click.echo(json.dumps({"task": key, "kind": kind, "folder": str(place)}))
        return
    click.echo(f"{place}\nchange its files, then: appliance task admit --pack {place.parent} {key}")
