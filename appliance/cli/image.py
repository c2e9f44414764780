"""`appliance image`: the roots that jails start from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from appliance.clean import clean_line
from appliance.errors import IntegrityError, UsageError

if TYPE_CHECKING:
    from appliance.sandbox.image import Image
    from appliance.sandbox.images.store import Stored

DEFAULT_NAME = "default"
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_path = click.Path(path_type=Path)


@click.group(name="image")
def command() -> None:
    """Make, list and check images: the read-only roots that jails start from."""


@command.command("build")
@click.option("--python", type=_path, help="This interpreter or virtual environment, with its packages.")
@click.option("--from", "folder", type=_path, help="A copy of this folder as the whole root.")
@click.option("--debian", "suite", help="A minimal Debian of this suite, by debootstrap; needs root.")
@click.option("--mirror", help="Where debootstrap fetches from.")
@click.option("--tools", is_flag=True, help="What the judge's own tools run in; it has a name of its own.")
@click.option("--name", help="The image's name; default: default, or debian-SUITE.")
@_json
def build(
    python: Path | None,
    folder: Path | None,
    suite: str | None,
    mirror: str | None,
    tools: bool,
    name: str | None,
    as_json: bool,
) -> None:
    """Make an image: of this machine's programs and a Python, of a folder, or of a fresh Debian.

    Without --from and --debian jails see this machine's /usr, read-only, and a copy of the Python standard library.
    Owners, set-id bits, devices and extended attributes are never taken over.
    """
    from appliance.sandbox.images.foreign import from_debian, from_folder

    if len([given for given in (python, folder, suite, tools or None) if given is not None]) > 1:
        raise UsageError(
            "--python, --from, --debian and --tools exclude each other", remedy="give one of them"
        )
    if mirror is not None and (suite is None or not mirror):
        raise UsageError(
            "--mirror is empty, or without --debian", remedy="give the address, and --debian SUITE"
        )
    if tools:
        _finish_tools(name, as_json)
    elif folder is not None:
        _finish(from_folder(_images(_required(name)), folder), _required(name), as_json)
    elif suite is not None:
        name = f"debian-{suite}" if name is None else name
        _finish(from_debian(_images(name), suite, mirror or ""), name, as_json)
    else:
        name = DEFAULT_NAME if name is None else name
        _finish(_host(_images(name), python), name, as_json)


@command.command("import")
@click.argument("file", type=_path)
@click.option("--name", required=True, help="The image's name.")
@_json
def import_(file: Path, name: str, as_json: bool) -> None:
    """Make an image of FILE: an OCI layout or `docker save` in a tar file, or a plain tar of a root.

    Every digest is checked. The file and its layers may be compressed with gzip or zstd.
    """
    from appliance.sandbox.images.foreign import from_archive

    _finish(from_archive(_images(name), file), name, as_json)


@command.command("list")
@_json
def list_images(as_json: bool) -> None:
    """List the images with their names, digests, sources and sizes."""
    from appliance.sandbox.images.store import damaged, listing

    rows, broken = [_row(stored) for stored in listing(_images())], damaged(_images())
    if as_json:
        click.echo(json.dumps({"images": rows, "damaged": broken}))
        return
    for row in rows:
        label = ",".join(row["names"]) or "-"
        size = f"{row['size_bytes'] / 2**20:.1f} MiB"
        click.echo(f"{label:<24} {row['digest'][:19]} {size:>12}  {clean_line(row['source'], 80)}")
    _tell_damaged(broken)
    click.echo(f"{len(rows)} image{'' if len(rows) == 1 else 's'}")


@command.command("verify")
@click.argument("reference", required=False)
@_json
@click.pass_context
def verify(context: click.Context, reference: str | None, as_json: bool) -> None:
    """Read an image (a name, a digest or its beginning), or all, and compare with its digest.

    The exit code is 7 when one differs, or can no longer be told to be an image.
    """
    from appliance.sandbox.images.store import damaged, digest_seen, find_stored, listing

    images = _images()
    chosen = [find_stored(images, reference)] if reference else listing(images)
    rows = [{**_row(stored), "seen": digest_seen(stored)} for stored in chosen]
    for row in rows:
        row["ok"] = row["seen"] == row["digest"]
    broken = {} if reference else damaged(images)
    good = all(row["ok"] for row in rows) and not broken
    if as_json:
        click.echo(json.dumps({"ok": good, "images": rows, "damaged": broken}))
    for row in [] if as_json else rows:
        verdict = "ok" if row["ok"] else f"CHANGED, now {row['seen']}"
        click.echo(f"{','.join(row['names']) or '-':<24} {row['digest']} {verdict}")
    _tell_damaged({} if as_json else broken)
    if not good:
        context.exit(IntegrityError.exit_code)


@command.command("gc")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@_json
def gc(dry_run: bool, as_json: bool) -> None:
    """Remove unfinished images and those without a name. One in use, and the one jails get by default, stay."""
    from appliance.sandbox.images.store import collect

    found = collect(_images(), dry_run=dry_run)
    if as_json:
        click.echo(json.dumps({"dry_run": dry_run, "removed": found.images, "in_use": found.in_use}))
        return
    for label in found.images:
        click.echo(f"{'would remove' if dry_run else 'removed'} {clean_line(label)}")
    for label in found.in_use:
        click.echo(f"in use {clean_line(label)}")
    click.echo(f"{len(found.images)} {'to remove' if dry_run else 'removed'}, {len(found.in_use)} in use")


def _tell_damaged(broken: dict[str, str]) -> None:
    for folder, why in broken.items():
        click.echo(f"{'-':<24} {clean_line(folder, 80)} DAMAGED: {clean_line(why, 200)}")


def _images(name: str | None = None) -> Path:
    """Where images are; a name that none can have is refused before anything is made."""
    from appliance.paths import from_environment
    from appliance.sandbox.images.store import check_name

    if name is not None:
        check_name(name)
    return from_environment(os.environ).images


def _required(name: str | None) -> str:
    if name is None:
        raise UsageError("--from needs a name for the image", remedy="add --name NAME")
    return name


def _host(images: Path, python: Path | None) -> Image:
    from appliance.sandbox.image import interpreter_at, own_interpreter, prepare

    return prepare(images, own_interpreter() if python is None else interpreter_at(python))


def _finish_tools(name: str | None, as_json: bool) -> None:
    from appliance.sandbox.images.store import find
    from appliance.sandbox.images.tools import prepare_tools

    if name is not None:
        raise UsageError("--tools has a name of its own", remedy="leave --name out")
    own = prepare_tools(_images())
    _finish(find(_images(), own), own, as_json)


def _finish(image: Image, name: str, as_json: bool) -> None:
    """Name a new image and tell of it."""
    from appliance.sandbox.images.store import assign, find_stored

    images = Path(image.root).parent.parent
    assign(images, name, image.digest)
    stored = find_stored(images, name)
    if as_json:
        click.echo(json.dumps(_row(stored)))
        return
    click.echo(f"{name} is {image.digest}, {stored.about.size_bytes / 2**20:.1f} MiB")
    for note in stored.about.notes:
        click.echo(f"  {clean_line(note, 200)}")


def _row(stored: Stored) -> dict[str, Any]:
    return {
        "names": list(stored.names),
        "digest": stored.image.digest,
        "source": stored.about.source,
        "size_bytes": stored.about.size_bytes,
        "files": stored.about.files,
        "packages": dict(stored.about.packages),
        "notes": list(stored.about.notes),
    }
