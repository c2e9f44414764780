"""What a session changed below /work: read from the overlay's upper folder, compared, kept, and laid out again.

The upper folder is hostile like all that a jail wrote, and still: it is read between commands, when only the session's
init lives. Everything is opened by one name in its open parent, never through a link. The kernel's marks are those of
Documentation/filesystems/overlayfs.rst: a deleted name is a character device 0:0, a folder that hides what was below
it carries the attribute user.overlay.opaque.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from appliance.errors import SandboxError, UsageError
from appliance.sandbox.job import is_name

MAX_ENTRIES = 20_000
MAX_DEPTH = 64
MAX_NAME_BYTES = 8 << 20
"""Of all paths together: each holds the names of the folders above it again."""
MAX_TREE_BYTES = 256 << 20
MAX_TREE_ENTRIES = 5 * MAX_ENTRIES
MAX_TARGET = 4095
OPAQUE = "user.overlay.opaque"
FILE_MODE, FOLDER_MODE = 0o755, 0o755

Kind = Literal["file", "folder", "link", "deleted", "special"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One name below /work; `path` is relative, with undecodable bytes as surrogates."""

    path: str
    kind: Kind
    mode: int = FILE_MODE
    body: bytes = b""
    """Contents of a file, target of a link."""
    opaque: bool = False
    """A folder that replaces what was there."""


@dataclass(frozen=True, slots=True)
class Change:
    """A difference to how the session began."""

    path: str
    what: Literal["added", "changed", "deleted"]
    kind: Kind


Tree = Mapping[str, Entry]
"""Path to entry; every entry's parents are folders in it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A frozen state of /work, by its digest; a session can begin from it."""

    digest: str
    """SHA-256 over paths, kinds, modes and contents."""
    entries: tuple[Entry, ...]


def tree_of(files: Mapping[str, bytes]) -> dict[str, Entry]:
    """The tree of plain files, with the folders they lie in."""
    found: dict[str, Entry] = {}
    for path, body in files.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            found.setdefault(folder, Entry(folder, "folder", FOLDER_MODE))
        found[path] = Entry(path, "file", FILE_MODE, body)
    return found


def read(upper: int, max_bytes: int) -> list[Entry]:
    """Every change below the open upper folder, parents first; SandboxError when there is too much."""
    reader = _Reader(max_bytes)
    return list(reader.walk(upper, "", 0))


def apply(base: Tree, changes: Iterable[Entry]) -> dict[str, Entry]:
    """The tree after the changes, which come parents first."""
    after = dict(base)
    for change in changes:
        before = after.get(change.path)
        if before is not None and (change.kind != "folder" or before.kind != "folder" or change.opaque):
            _forget(after, change.path)
        if change.kind not in ("deleted", "special"):
            after[change.path] = change
    return after


def differences(before: Tree, after: Tree) -> list[Change]:
    """By path; a folder counts when it came, went or became one."""
    found = [Change(path, "deleted", entry.kind) for path, entry in before.items() if path not in after]
    for path, entry in after.items():
        known = before.get(path)
        if known is None:
            found.append(Change(path, "added", entry.kind))
        elif _essence(known) != _essence(entry):
            found.append(Change(path, "changed", entry.kind))
    return sorted(found, key=lambda change: change.path)


def checked(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The tree of these entries; UsageError unless it can be laid out below a folder and nowhere else.

    A snapshot may come from another process, and what it says is then written by this one.
    """
    tree: dict[str, Entry] = {}
    size = 0
    for entry in sorted(entries, key=lambda entry: entry.path):
        parent = entry.path.rpartition("/")[0]
        if reason := _fault(entry, tree.get(parent) if parent else None, nested=bool(parent)):
            raise UsageError(f"a snapshot in which {entry.path!r} {reason}", remedy="take it again")
        if entry.path in tree or len(tree) >= MAX_TREE_ENTRIES:
            raise UsageError(f"a snapshot with {entry.path!r} twice, or with too many names")
        tree[entry.path] = entry
        size += len(entry.body)
    if size > MAX_TREE_BYTES:
        raise UsageError(f"a snapshot of more than {MAX_TREE_BYTES >> 20} MiB")
    return tree


def _fault(entry: Entry, parent: Entry | None, *, nested: bool) -> str:
    """Why an entry cannot be in a tree, or nothing."""
    parts = entry.path.split("/")
    if not all(map(is_name, parts)) or len(parts) > MAX_DEPTH + 1:
        return "is no relative path of ordinary names"
    if nested and (parent is None or parent.kind != "folder"):
        return "lies in no folder"
    if entry.kind == "folder":
        return "is a folder with contents" if entry.body else ""
    if entry.kind == "link":
        whole = 0 < len(entry.body) <= MAX_TARGET and b"\0" not in entry.body
        return "" if whole else "is a link to nowhere"
    return "" if entry.kind == "file" else f"is a {entry.kind}"


def freeze(tree: Tree) -> Snapshot:
    digest = hashlib.sha256()
    entries = tuple(tree[path] for path in sorted(tree))
    for entry in entries:
        head = f"{entry.kind} {entry.mode:o} {len(entry.body)} ".encode()
        digest.update(head + os.fsencode(entry.path) + b"\0" + entry.body)
    return Snapshot(f"sha256:{digest.hexdigest()}", entries)


def lay_out(folder: int, tree: Tree, owner: int | None) -> None:
    """Write a tree below an open empty folder, as `owner`'s. Links come last: nothing is written through one."""
    order: dict[Kind, int] = {"folder": 0, "file": 1, "link": 2}
    for entry in sorted(tree.values(), key=lambda entry: (order[entry.kind], entry.path)):
        if entry.kind == "folder":
            os.mkdir(entry.path, dir_fd=folder)
        elif entry.kind == "link":
            os.symlink(entry.body, os.fsencode(entry.path), dir_fd=folder)
        else:
            _write(folder, entry)
        if owner is not None:
            os.chown(entry.path, owner, owner, dir_fd=folder, follow_symlinks=False)
        if entry.kind != "link":
            # After the owner: changing that clears bits.
            os.chmod(entry.path, entry.mode & 0o777, dir_fd=folder)


def _write(folder: int, entry: Entry) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(entry.path, flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(entry.body)


def _forget(tree: dict[str, Entry], path: str) -> None:
    for known in [known for known in tree if known == path or known.startswith(f"{path}/")]:
        del tree[known]


def _essence(entry: Entry) -> tuple[object, ...]:
    return (entry.kind,) if entry.kind == "folder" else (entry.kind, entry.mode, entry.body)


class _Reader:
    """One walk, with what it may still take."""

    def __init__(self, max_bytes: int) -> None:
        self._bytes, self._entries, self._names = max_bytes, MAX_ENTRIES, MAX_NAME_BYTES

    def walk(self, folder: int, prefix: str, depth: int) -> Iterator[Entry]:
        if depth > MAX_DEPTH:
            raise _too_much(f"folders deeper than {MAX_DEPTH}")
        for name in sorted(os.listdir(folder)):
            self._entries -= 1
            self._names -= len(prefix) + len(name)
            if self._entries < 0 or self._names < 0:
                raise _too_much(f"more than {MAX_ENTRIES} names, or {MAX_NAME_BYTES >> 20} MiB of them")
            yield from self._entry(folder, name, f"{prefix}{name}", depth)

    def _entry(self, parent: int, name: str, path: str, depth: int) -> Iterator[Entry]:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISDIR(found.st_mode):
            # A folder that its owner may not read is still ours to read, as root.
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            try:
                yield Entry(path, "folder", mode, opaque=_is_opaque(fd))
                yield from self.walk(fd, f"{path}/", depth + 1)
            finally:
                os.close(fd)
        elif stat.S_ISREG(found.st_mode):
            yield Entry(path, "file", mode, self._contents(parent, name))
        elif stat.S_ISLNK(found.st_mode):
            yield Entry(path, "link", mode, os.fsencode(os.readlink(name, dir_fd=parent)))
        elif stat.S_ISCHR(found.st_mode) and found.st_rdev == 0:
            yield Entry(path, "deleted")
        else:
            yield Entry(path, "special", mode)

    def _contents(self, parent: int, name: str) -> bytes:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
            # A sparse file is as large as it says.
            body = file.read(self._bytes + 1)
        self._bytes -= len(body)
        if self._bytes < 0:
            raise _too_much("more bytes than may be kept")
        return body


def _is_opaque(fd: int) -> bool:
    try:
        return os.getxattr(fd, OPAQUE) == b"y"
    except OSError:
        return False


def _too_much(what: str) -> SandboxError:
    return SandboxError(f"a session left {what}", remedy="give it a smaller disk limit, or reset it")
