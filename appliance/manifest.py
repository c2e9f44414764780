"""Content identity: SHA-256 over a sorted manifest of files (path in NFC, executable bit, content hash).

Compiled caches and a task's own change record are no content. A link is refused: what it points at is not ours
to hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import IntegrityError

PUBLIC_PARTS = ("instruction.md", "environment/", "public/")
ENVIRONMENT_PARTS = ("environment/",)
HIDDEN_PARTS = ("tests/", "solution/", "hidden/")

_SKIPPED_FOLDERS = ("__pycache__",)
_SKIPPED_FILES = ("CHANGES.jsonl",)


class LinkFound(Exception):
    """A symbolic link or special file stands where only regular files may."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One file of a manifest."""

    path: str
    executable: bool
    sha256: str


def read_tree(folder: Path) -> tuple[Entry, ...]:
    """The sorted entries of a folder; LinkFound for anything but files and folders."""
    return tuple(sorted(_entry(folder, path) for path in walk(folder)))


def walk(folder: Path) -> Iterable[Path]:
    """Every regular file under `folder` that counts as content, without following links, however deep it lies."""
    waiting = _children(folder)
    while waiting:
        child = waiting.pop()
        if child.is_dir(follow_symlinks=False):
            if child.name not in _SKIPPED_FOLDERS:
                waiting += _children(child.path)
        elif not child.is_file(follow_symlinks=False):
            raise LinkFound(Path(child.path))
        elif child.name not in _SKIPPED_FILES:
            yield Path(child.path)


def _children(folder: Path | str) -> list[os.DirEntry[str]]:
    """What lies in a folder, the first name last."""
    with os.scandir(folder) as found:
        return sorted(found, key=lambda child: child.name, reverse=True)


def _entry(folder: Path, path: Path) -> Entry:
    name = unicodedata.normalize("NFC", path.relative_to(folder).as_posix())
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return Entry(name, bool(path.stat().st_mode & 0o100), content)


def manifest_hash(entries: Iterable[Entry]) -> str:
    """One hash for a set of entries, whatever their order."""
    lines = [[entry.path, entry.executable, entry.sha256] for entry in sorted(entries)]
    return hashlib.sha256(json.dumps(lines, separators=(",", ":")).encode()).hexdigest()


def content_hashes(folder: Path) -> tuple[str, str]:
    """The public and the hidden hash of a task folder."""
    entries = read_tree(folder)
    return parts_hash(entries, PUBLIC_PARTS), parts_hash(entries, HIDDEN_PARTS)


def check_unchanged(folder: Path, public: str, hidden: str) -> None:
    """IntegrityError unless the folder still is what the task with these hashes was loaded from."""
    if content_hashes(folder) != (public, hidden):
        raise IntegrityError(
            f"{folder}: the task changed after it was loaded", remedy="start again with the task as it is now"
        )


def parts_hash(entries: Iterable[Entry], parts: tuple[str, ...]) -> str:
    """The hash of the entries whose path starts with one of `parts`."""
    return manifest_hash(entry for entry in entries if entry.path.startswith(parts))


def environment_hash(files: str, image: str) -> str:
    """The hash of what surrounds a candidate: `files`, the hash of its `environment/`, and its image's digest."""
    return hashlib.sha256(json.dumps([files, image]).encode()).hexdigest()


def bytes_hash(files: Mapping[str, bytes]) -> str:
    """The hash of files held in memory."""
    return manifest_hash(Entry(name, False, hashlib.sha256(body).hexdigest()) for name, body in files.items())
