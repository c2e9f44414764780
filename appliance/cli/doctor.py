"""`appliance doctor`: whether the main job can run on this machine, and what to do when it cannot."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from appliance.doctor.checks import Named


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)
@click.pass_context
def command(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Check this machine, or only what is NAMEd. Each check has a verdict and, unless that is ok, a remedy.

    The exit code is 0 only when the main job can run: no check failed. A warning does not count.
    """
    from appliance.doctor.checks import chosen, examine
    from appliance.doctor.findings import Machine
    from appliance.paths import from_environment

    found = examine(Machine(from_environment(os.environ)), chosen(names))
    checks = list(found) if as_json else _shown(found)
    failed = [check.name for check in checks if check.verdict == "fail"]
    if as_json:
        click.echo(json.dumps({"ok": not failed, "checks": [asdict(check) for check in checks]}))
    else:
        good = "what was named is in order" if names else "the main job can run here"
        click.echo(f"failed: {', '.join(failed)}" if failed else good)
    context.exit(1 if failed else 0)


def _shown(found: Iterable[Named]) -> list[Named]:
    from appliance.clean import clean_line

    checks = []
    for check in found:
        click.echo(f"{check.verdict:<5} {check.name:<16} {clean_line(check.detail)}")
        if check.remedy:
            click.echo(f"{'':<5} {'':<16} → {clean_line(check.remedy)}")
        checks.append(check)
    return checks
