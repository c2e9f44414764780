"""Removing what a crashed predecessor left on the host: leaf cgroups with what still runs in them, and folders.

A leftover is something of ours whose name tells its owner, by pid and birth, and whose owner is gone. Anything else
stays: a name that says nothing may be in use.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from appliance.sandbox.cgroups import birth, nursery
from appliance.sandbox.launcher import FOLDER

STAGE_PREFIX = FOLDER
"""Folders `PREFIX-PID-BIRTH-*` of launchers that have no private mount namespace."""


def clean_up(temporary: Path | None = None) -> list[str]:
    """Remove leaves and stages of processes that are gone; say what was removed, a line each."""
    found, _ = nursery()
    leaves = found.sweep() if found is not None else 0
    said = [f"removed {leaves} cgroups of jails whose owner is gone"] if leaves else []
    return said + [
        f"removed {path}" for path in sweep(temporary or Path(tempfile.gettempdir()), STAGE_PREFIX)
    ]


def sweep(parent: Path, prefix: str) -> list[Path]:
    """Remove the folders `prefix-PID-BIRTH-*` of ours below `parent` whose owner is gone; return them."""
    return [path for path in _orphans(parent, prefix) if _removed(path)]


def owner_lives(pid: int, born: int) -> bool:
    """Whether the process of that pid is the one that was born then (in ticks since boot)."""
    try:
        return birth(pid) == born
    except (FileNotFoundError, ProcessLookupError):
        return False


def _orphans(parent: Path, prefix: str) -> Iterable[Path]:
    for path in sorted(parent.glob(f"{prefix}-*-*-*")):
        pid, born, *_ = path.name.removeprefix(f"{prefix}-").split("-")
        if pid.isdecimal() and born.isdecimal() and not owner_lives(int(pid), int(born)) and _is_ours(path):
            yield path


def _is_ours(path: Path) -> bool:
    """In a folder that everybody may write to, a name proves nothing."""
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _removed(path: Path) -> bool:
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()
