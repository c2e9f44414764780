"""What a session changed below /work: read from the overlay's upper folder, compared, kept, and laid out again.

The upper folder is hostile like all that a jail wrote, and still: it is read between commands, when only the session's
init lives. Everything is opened by one name in its open parent, never through a link. The kernel's marks are those of
Documentation/filesystems/overlayfs.rst: a deleted name is a character device 0:0, a folder that hides what was below
it carries the attribute user.overlay.opaque.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from appliance.errors import UsageError
from appliance.sandbox.artefacts import Refused
from appliance.sandbox.job import is_name

MAX_ENTRIES = 20_000
MAX_DEPTH = 64
MAX_NAME_BYTES = 3 << 20
"""Of all paths together: each holds the names of the folders above it again, and may travel at six times its size."""
MAX_TREE_NAME_BYTES = 4 << 20
MAX_TREE_BYTES = 256 << 20
MAX_TREE_ENTRIES = 5 * MAX_ENTRIES
MAX_TARGET = 4095
OPAQUE = "user.overlay.opaque"
FILE_MODE, FOLDER_MODE = 0o755, 0o755
TOO_LARGE, UNREADABLE = "no room left for its bytes", "unreadable"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

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
    refused: str = ""
    """Why its contents were not read; of a folder, why nothing below it was."""


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
    refused: tuple[Refused, ...] = ()
    """What could not be kept, each with its reason."""
    truncated: str = ""
    """Which cap left names out; empty when none did."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What is different below /work. Something refused counts as changed: what is in it is not known."""

    changes: tuple[Change, ...]
    refused: tuple[Refused, ...] = ()
    truncated: str = ""
    """Which cap left names out; empty when none did."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything in an upper folder, as far as it was read."""

    entries: tuple[Entry, ...]
    truncated: str = ""

    @property
    def refused(self) -> tuple[Refused, ...]:
        return tuple(Refused(os.fsencode(e.path), e.refused) for e in self.entries if e.refused)


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


def read(upper: int, max_bytes: int) -> Reading:
    """Every change below the open upper folder, parents first, contents as far as `max_bytes` goes.

    What a command leaves there is its own doing and never an error: what cannot be kept is an entry with a reason, and
    where there are too many names the reading ends early and says so. OSError when the folder itself cannot be read.
    """
    return _Reader(max_bytes).run(upper)


def apply(base: Tree, changes: Iterable[Entry]) -> dict[str, Entry]:
    """The tree after the changes, which come parents first."""
    after, order = dict(base), sorted(base)
    for change in changes:
        before = after.get(change.path)
        if before is not None and (change.kind != "folder" or before.kind != "folder" or change.opaque):
            _forget(after, order, change.path)
        if change.refused or change.kind not in ("deleted", "special"):
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
    size = names = 0
    for entry in sorted(entries, key=lambda entry: entry.path):
        parent = entry.path.rpartition("/")[0]
        if reason := _fault(entry, tree.get(parent) if parent else None, nested=bool(parent)):
            raise UsageError(f"a snapshot in which {entry.path!r} {reason}", remedy="take it again")
        names += len(os.fsencode(entry.path))
        if entry.path in tree or len(tree) >= MAX_TREE_ENTRIES or names > MAX_TREE_NAME_BYTES:
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


def freeze(tree: Tree, refused: Iterable[Refused] = (), truncated: str = "") -> Snapshot:
    digest = hashlib.sha256()
    entries = tuple(tree[path] for path in sorted(tree))
    for entry in entries:
        head = f"{entry.kind} {entry.mode:o} {len(entry.body)} ".encode()
        digest.update(head + os.fsencode(entry.path) + b"\0" + entry.body)
    return Snapshot(f"sha256:{digest.hexdigest()}", entries, tuple(refused), truncated)


def keep(tree: Tree, truncated: str = "") -> Snapshot:
    """What of a tree a session can begin from; all else is refused by name, what lies below it with it."""
    kept: dict[str, Entry] = {}
    refused: list[Refused] = []
    size = names = 0
    for path in sorted(tree):
        entry, parent = tree[path], path.rpartition("/")[0]
        if parent and parent not in kept:
            continue
        why = entry.refused or (TOO_LARGE if size + len(entry.body) > MAX_TREE_BYTES else "")
        if why:
            refused.append(Refused(os.fsencode(path), why))
            continue
        names += len(os.fsencode(path))
        if len(kept) == MAX_TREE_ENTRIES or names > MAX_TREE_NAME_BYTES:
            truncated = truncated or f"more than {MAX_TREE_ENTRIES} names, or too long ones"
            break
        size += len(entry.body)
        kept[path] = entry
    return freeze(checked(kept.values()), refused, truncated)


def lay_out(folder: int, tree: Tree, owner: int | None) -> None:
    """Write a tree below an open empty folder, as `owner`'s.

    Every name is made in its open parent: paths may be longer than the kernel takes, and none leads through a link.
    """
    children: dict[str, list[Entry]] = {}
    for path in sorted(tree):
        children.setdefault(path.rpartition("/")[0], []).append(tree[path])
    orphans = [path for path in children if path and (path not in tree or tree[path].kind != "folder")]
    if orphans:
        raise NotADirectoryError(errno.ENOTDIR, f"{orphans[0]!r} is no folder of the tree")
    _fill(folder, children.get("", []), children, owner)


def _fill(
    folder: int, entries: Iterable[Entry], children: Mapping[str, list[Entry]], owner: int | None
) -> None:
    for entry in entries:
        name = entry.path.rpartition("/")[2]
        if entry.kind == "link":
            os.symlink(entry.body, os.fsencode(name), dir_fd=folder)
            if owner is not None:
                os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
            continue
        fd = _made(folder, name, entry)
        try:
            _fill(fd, children.get(entry.path, []), children, owner)
            if owner is not None:
                os.fchown(fd, owner, owner)
            # After the owner: changing that clears bits. After the contents: it may forbid to write.
            os.fchmod(fd, entry.mode & 0o777)
        finally:
            os.close(fd)


def _made(folder: int, name: str, entry: Entry) -> int:
    """The descriptor of a new file with its contents, or of a new folder."""
    if entry.kind == "folder":
        os.mkdir(name, 0o700, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)
    fd = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
    )
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(entry.body)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _forget(tree: dict[str, Entry], order: Sequence[str], path: str) -> None:
    """Remove a path and all below it that was there before; `order` is that, sorted."""
    tree.pop(path, None)
    # "0" is the character after "/".
    for known in order[bisect_left(order, f"{path}/") : bisect_left(order, f"{path}0")]:
        tree.pop(known, None)


def _essence(entry: Entry) -> tuple[object, ...]:
    if entry.refused:
        # What is in it is not known; that it lies in the upper folder means that it was written to.
        return (entry.path, entry.refused)
    return (entry.kind,) if entry.kind == "folder" else (entry.kind, entry.mode, entry.body)


class _Truncated(Exception):
    """A cap on the whole is met."""


class _Reader:
    """One walk, with what it may still take."""

    def __init__(self, max_bytes: int) -> None:
        self._bytes, self._entries, self._names = max_bytes, MAX_ENTRIES, MAX_NAME_BYTES
        self._found: list[Entry] = []

    def run(self, upper: int) -> Reading:
        truncated = ""
        try:
            self._walk(upper, "", 0)
        except _Truncated as reason:
            truncated = str(reason)
        return Reading(tuple(self._found), truncated)

    def _walk(self, folder: int, prefix: str, depth: int) -> None:
        for name in self._listed(folder, prefix):
            path = f"{prefix}{name}"
            try:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    self._enter(folder, name, path, found, depth + 1)
                else:
                    self._found.append(self._entry(folder, name, path, found))
            except OSError:
                # An ordinary user cannot read what the jail, which runs as that user, has shut.
                self._found.append(Entry(path, "special", refused=UNREADABLE))

    def _listed(self, folder: int, prefix: str) -> list[str]:
        """Sorted. A folder that does not fit is left out whole: half of it would be a matter of luck."""
        names = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._entries -= 1
                self._names -= len(os.fsencode(prefix)) + len(os.fsencode(entry.name))
                if self._entries < 0 or self._names < 0:
                    raise _Truncated(f"more than {MAX_ENTRIES} names, or {MAX_NAME_BYTES >> 20} MiB of them")
                names.append(entry.name)
        return sorted(names)

    def _enter(self, parent: int, name: str, path: str, found: os.stat_result, depth: int) -> None:
        mode = stat.S_IMODE(found.st_mode)
        try:
            # A folder that its owner may not read is still ours to read, as root.
            fd = os.open(name, _FOLDER, dir_fd=parent)
        except OSError:
            self._found.append(Entry(path, "folder", mode, refused=UNREADABLE))
            return
        try:
            if depth > MAX_DEPTH and any(os.scandir(fd)):
                self._found.append(Entry(path, "folder", mode, refused="too deep"))
                return
            self._found.append(Entry(path, "folder", mode, opaque=_is_opaque(fd)))
            self._walk(fd, f"{path}/", depth)
        finally:
            os.close(fd)

    def _entry(self, parent: int, name: str, path: str, found: os.stat_result) -> Entry:
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISREG(found.st_mode):
            return self._file(parent, name, Entry(path, "file", mode), found)
        if stat.S_ISLNK(found.st_mode):
            return Entry(path, "link", mode, os.fsencode(os.readlink(name, dir_fd=parent)))
        if stat.S_ISCHR(found.st_mode) and found.st_rdev == 0:
            return Entry(path, "deleted")
        return Entry(path, "special", mode)

    def _file(self, parent: int, name: str, entry: Entry, found: os.stat_result) -> Entry:
        """With its contents, if there is room for all that it says it has: it may be sparse, or have many names."""
        if found.st_size > self._bytes:
            sparse = found.st_blocks * 512 < found.st_size
            why = "hard link" if found.st_nlink > 1 else "sparse" if sparse else TOO_LARGE
            return replace(entry, refused=why)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
                body = file.read(found.st_size)
        except OSError:
            return replace(entry, refused=UNREADABLE)
        self._bytes -= len(body)
        return replace(entry, body=body)


def _is_opaque(fd: int) -> bool:
    try:
        return os.getxattr(fd, OPAQUE) == b"y"
    except OSError:
        return False
