"""Installing the service's files: units, users, folders, AppArmor profile, examples.

The shipped files name an interpreter below /opt/appliance; what is installed names the one that runs this. Each file's
first line carries the hash of the rest, so that a file somebody edited is known, and kept.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance.errors import UsageError

SHIPPED = Path(__file__).parents[1] / "units"
INTERPRETER = "/opt/appliance/.venv/bin/python"
NSJAIL = "/opt/appliance/.venv/lib/python3.11/site-packages/nsjail/bin/nsjail"
MARK = "# appliance install-units "
NEW = ".new"
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")
"""Folders that the services do not see."""

SYSTEM: Mapping[str, str] = {
    "appliance.service": "etc/systemd/system/appliance.service",
    "appliance-jailer.service": "etc/systemd/system/appliance-jailer.service",
    "appliance-train@.service": "etc/systemd/system/appliance-train@.service",
    "sysusers.conf": "etc/sysusers.d/appliance.conf",
    "tmpfiles.conf": "etc/tmpfiles.d/appliance.conf",
    "apparmor.nsjail": "etc/apparmor.d/appliance-nsjail",
    # The manager reads names that end in .conf and no others.
    "examples/10-model-folder.conf": "etc/systemd/system/appliance.service.d/10-model-folder.conf.example",
    "examples/20-nvidia.conf": "etc/systemd/system/appliance.service.d/20-nvidia.conf.example",
}
"""Shipped file to its place below the prefix."""
USER: Mapping[str, str] = {"appliance-user.service": "systemd/user/appliance.service"}
"""The same for one user, below the folder of configuration."""

NEXT_SYSTEM = (
    "systemd-sysusers",
    "systemd-tmpfiles --create",
    "systemctl daemon-reload",
    "systemctl enable --now appliance",
    "usermod --append --groups appliance YOU   # who may give orders",
)
NEXT_APPARMOR = "apparmor_parser --replace /etc/apparmor.d/appliance-nsjail"
NEXT_USER = (
    "systemctl --user daemon-reload",
    "systemctl --user enable --now appliance",
    "loginctl enable-linger   # so that it outlives your session",
)

State = Literal["installed", "updated", "unchanged", "kept"]
"""`kept`: somebody edited it; the new text lies beside it under the name with `.new`."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What became of one file."""

    path: Path
    state: State


def system(prefix: Path, *, dry_run: bool) -> list[Installed]:
    """Install for the whole machine, below `prefix` (usually /).

    Raises UsageError without the right to, or when the services could not see the program.
    """
    if prefix == Path("/") and not dry_run:
        if os.geteuid() != 0:
            raise UsageError(
                "installing units for the machine needs root",
                remedy="sudo, or --user for a service of your own, or --prefix DIR",
            )
        _check_visible()
    return [_install(prefix / place, _rendered(name), dry_run) for name, place in SYSTEM.items()]


def user(env: Mapping[str, str], *, dry_run: bool) -> list[Installed]:
    """Install into the user's own service manager."""
    folder = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "/"), ".config"))
    return [_install(folder / place, _rendered(name), dry_run) for name, place in USER.items()]


def _rendered(name: str) -> str:
    from appliance.sandbox.nsjail import nsjail_binary

    body = (SHIPPED / name).read_text(encoding="utf-8").replace(INTERPRETER, _quoted(sys.executable))
    if NSJAIL in body:
        body = body.replace(NSJAIL, str(nsjail_binary().path))
    return f"{MARK}{_hash(body)}\n{body}"


def _quoted(path: str) -> str:
    """An executable's path as a unit takes it: a space or a per cent sign means something there."""
    if any(letter in path for letter in "\"'\\\n"):
        raise UsageError(f"{path!r} cannot be written in a unit", remedy="install into a plainer folder")
    text = path.replace("%", "%%")
    return f'"{text}"' if " " in text else text


def _install(path: Path, text: str, dry_run: bool) -> Installed:
    try:
        state = _state(path, text)
        if not dry_run and state != "unchanged":
            target = path.with_name(path.name + NEW) if state == "kept" else path
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", remedy="check the folder, or give --prefix") from None
    return Installed(path, state)


def _replace(target: Path, text: str) -> None:
    """Whole or not at all."""
    parts = target.with_name(f".{target.name}.part")
    parts.write_text(text, encoding="utf-8")
    parts.chmod(0o644)
    parts.replace(target)


def _state(path: Path, text: str) -> State:
    try:
        present = path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return "installed"
    if present == text:
        return "unchanged"
    head, _, body = present.partition("\n")
    return "updated" if head == f"{MARK}{_hash(body)}" else "kept"


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest()


def _check_visible() -> None:
    """The services run as users of their own that see neither homes nor our temporary folder."""
    for path in _program():
        hidden = next((top for top in HIDDEN if path.is_relative_to(top)), "")
        if hidden or not _readable_by_all(path):
            why = f"lies in {hidden}" if hidden else "is not readable by everybody"
            raise UsageError(
                f"{path} {why}: the services could not see it",
                remedy="set the program up in /opt/appliance with a Python from /usr, or use --user",
            )


def _program() -> Iterator[Path]:
    """The interpreter, its standard library, its packages and ours, by their real names."""
    names = (sys.executable, os.__file__, sys.prefix, sys.base_prefix, __file__)
    return (Path(name).resolve() for name in names)


def _readable_by_all(path: Path) -> bool:
    bits = ((folder, 0o001) for folder in path.parents)
    return path.stat().st_mode & 0o004 != 0 and all(folder.stat().st_mode & bit for folder, bit in bits)
