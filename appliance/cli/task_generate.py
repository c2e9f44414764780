"""`appliance task generate`: variants of a family, written into a pack."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from types import ModuleType


@click.command("generate")
@click.argument("family", required=False)
@click.option(
    "--pack", type=click.Path(path_type=Path), help="The folder of the pack, made where there is none."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the first variant.")
@click.option(
    "--count",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Variants, of one seed after another.",
)
@click.option("--knob", "knobs", multiple=True, metavar="NAME=N", help="How hard: see --list.")
@click.option("--split", type=click.Choice(["train", "eval"]), default="train", show_default=True)
@click.option("--list", "listed", is_flag=True, help="List the families and their knobs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    family: str | None,
    pack: Path | None,
    seed: int,
    count: int,
    knobs: tuple[str, ...],
    split: str,
    listed: bool,
    as_json: bool,
) -> None:
    """Write variants of FAMILY into a pack. Equal seed and knobs give equal tasks.

    \b
    Examples:
      appliance task generate --list
      appliance task generate list-pipeline --pack packs/lists --count 20 --knob steps=4
    """
    from appliance.errors import UsageError
    from appliance.families import checked, load_family, variant
    from appliance.pool.scaffold import write_new

    if listed:
        _list(as_json)
        return
    if family is None or pack is None:
        raise UsageError(
            "a family and --pack are needed", remedy="appliance task generate --list shows the families"
        )
    module = load_family(family)
    turned = checked(module, dict(map(_knob, knobs)))
    name = pack.resolve().name
    if not re.fullmatch("[a-z0-9][a-z0-9_-]*", name):
        raise UsageError(f"{name!r} cannot name a pack", remedy="name the folder in lower case letters")
    made = [variant(module, name, split, number, turned) for number in range(seed, seed + count)]
    places = [write_new(pack, task) for task in made]
    if as_json:
        click.echo(json.dumps({"pack": str(pack), "tasks": [task.key for task in made]}))
        return
    for place in places[:10]:
        click.echo(str(place))
    click.echo(f"{len(places)} tasks of {module.NAME}; next: appliance task check --pack {pack} --all")


def _knob(text: str) -> tuple[str, int]:
    from appliance.errors import UsageError

    name, mark, value = text.partition("=")
    if not mark or not re.fullmatch(r"-?[0-9]{1,9}", value):
        raise UsageError(f"--knob {text!r} is no knob", remedy="write NAME=N with a whole number")
    return name, int(value)


def _list(as_json: bool) -> None:
    from appliance.families import family_names, load_family

    found = [_described(load_family(name)) for name in family_names()]
    if as_json:
        click.echo(json.dumps({"families": found}))
        return
    for row in found:
        click.echo(f"{row['name']} ({row['kind']}): {row['summary']}")
        for name, knob in row["knobs"].items():
            click.echo(f"  {name} {knob['low']} to {knob['high']}, default {knob['default']}: {knob['help']}")


def _described(family: ModuleType) -> dict[str, Any]:
    from dataclasses import asdict

    knobs = {name: asdict(knob) for name, knob in family.KNOBS.items()}
    return {"name": family.NAME, "kind": family.KIND, "summary": family.SUMMARY, "knobs": knobs}
