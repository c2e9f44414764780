"""`appliance install-units`: the files that make a service of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

_WORDS = {
    "installed": ("installed", "would install"),
    "updated": ("updated", "would update"),
    "unchanged": ("already there", "already there"),
    "kept": ("edited, kept as it is; the new one is beside it (.new)", "edited, would be kept"),
}


@click.command(name="install-units")
@click.option("--user", "for_user", is_flag=True, help="Into your own service manager; needs no root.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--prefix",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("/"),
    show_default=True,
    help="Write below this folder, for an image or a package.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(for_user: bool, dry_run: bool, prefix: Path, as_json: bool) -> None:
    """Install the systemd units, users, folders and AppArmor profile of the service; start nothing.

    Running it again changes nothing. A file that was edited since is kept, and the new one is written beside it.
    """
    from appliance.daemon import units
    from appliance.errors import UsageError

    if for_user and prefix != Path("/"):
        raise UsageError("--user and --prefix exclude each other", remedy="give one of them")
    done = (
        units.user(os.environ, dry_run=dry_run)
        if for_user
        else units.system(prefix.absolute(), dry_run=dry_run)
    )
    following = list(units.NEXT_USER if for_user else units.NEXT_SYSTEM)
    if not for_user and Path("/sys/module/apparmor").exists():
        following.insert(2, units.NEXT_APPARMOR)
    if as_json:
        files = [{"path": str(file.path), "state": file.state} for file in done]
        click.echo(json.dumps({"applied": not dry_run, "files": files, "next": following}))
        return
    for file in done:
        click.echo(f"{file.path}: {_WORDS[file.state][dry_run]}")
    click.echo("next:")
    for line in following:
        click.echo(f"  {line}")
