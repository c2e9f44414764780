"""Collecting what a jail left behind: the regular files below a folder that the jail could write to.

Everything there is hostile. Nothing is looked up by a path: each folder and file is opened by one name in its open
parent, with `openat2` where the kernel has it, never through a link, a mount point or a name that leads upwards. Only
plain files of a single name are read; all else is named with the reason why it was refused. Every cost is capped, and
what is collected depends on the tree alone, not on the order in which a file system lists it.

Collect when nothing of the jail runs any more, or while it is frozen. A file that changes nevertheless is refused as
far as its times and size tell.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from appliance.clean import clean_text
from appliance.errors import SandboxError, UsageError

CHUNK = 1 << 20
ROUNDING = 64 * 1024
"""File systems give whole blocks: so much may be allocated over a file's cap."""
MAX_DEPTH = 256
"""Each folder on the way costs a descriptor."""
SYS_OPENAT2 = 437
RESOLVE_NO_XDEV, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 1, 4, 8
HOW = struct.pack("=QQQ", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY, 0,
                  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)  # fmt: skip

Clock = Callable[[], float]
Opener = Callable[[int, bytes], int]


@dataclass(frozen=True, slots=True)
class CollectLimits:
    """What a collection may cost; memory is at most `total_bytes`, one file more, and the names."""

    file_bytes: int = 16 << 20
    """Of one file, by its size or by what is allocated to it, whichever is larger."""
    total_bytes: int = 64 << 20
    entries: int = 4096
    """Names of any kind, in all folders together."""
    depth: int = 32
    """Folders within folders, at most 256."""
    seconds: float = 10.0

    def __post_init__(self) -> None:
        for name in ("file_bytes", "total_bytes", "entries", "seconds"):
            if not getattr(self, name) > 0:
                raise UsageError(f"collection limit {name} = {getattr(self, name)!r} is not above 0")
        if not 0 <= self.depth <= MAX_DEPTH:
            raise UsageError(f"collection limit depth = {self.depth!r} is not between 0 and {MAX_DEPTH}")


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that was not collected."""

    name: bytes
    """Below the root, exactly."""
    reason: str
    """In our words; safe to print."""

    @property
    def shown(self) -> str:
        return shown(self.name)


@dataclass(frozen=True, slots=True)
class Collection:
    """What was found, in the order of the names' bytes."""

    files: Mapping[bytes, bytes]
    """Exact name below the root → contents."""
    refused: tuple[Refused, ...]
    truncated: str
    """Which cap ended the collection early; empty when everything was seen."""


class _Truncated(Exception):
    """A cap on the whole is met."""


class _Refused(Exception):
    """One thing is not collected."""


def collect(root_fd: int, limits: CollectLimits, clock: Clock, *, openat2: bool = True) -> Collection:
    """Collect the files below an open folder. `clock` gives seconds; `openat2=False` does without that call.

    SandboxError when the folder itself cannot be read.
    """
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root_fd)
    except OSError as error:
        remedy = "give an open folder that this process may read"
        raise SandboxError(f"cannot collect from the folder: {error.strerror}", remedy=remedy) from error
    try:
        return _Walk(fd, limits, clock, _opener(fd) if openat2 else _open_plainly).run(fd)
    finally:
        os.close(fd)


def shown(name: bytes) -> str:
    """A hostile name for a terminal: printable, and no two names alike."""
    return clean_text("".join(map(_escaped, name.decode("utf-8", "surrogateescape"))))


def _escaped(letter: str) -> str:
    if 0xDC80 <= ord(letter) <= 0xDCFF:
        return f"\\x{ord(letter) - 0xDC00:02x}"
    # What clean_text would remove (a few of them count as printable) is spelt out as well.
    if letter.isprintable() and letter != "\\" and clean_text(letter) == letter:
        return letter
    return letter.encode("unicode_escape").decode()


class _Walk:
    """One collection under way."""

    def __init__(self, root: int, limits: CollectLimits, clock: Clock, opener: Opener) -> None:
        self._limits, self._clock, self._open = limits, clock, opener
        self._device = os.fstat(root).st_dev
        self._deadline = clock() + limits.seconds
        self._entries = 0
        self._bytes = 0
        self._files: dict[bytes, bytes] = {}
        self._refused: list[Refused] = []

    def run(self, root: int) -> Collection:
        truncated = ""
        try:
            self._enter(root, b"", 0)
        except _Truncated as reason:
            truncated = str(reason)
        refused = sorted(self._refused, key=lambda item: item.name)
        return Collection(dict(sorted(self._files.items())), tuple(refused), truncated)

    def _enter(self, folder: int, prefix: bytes, depth: int) -> None:
        """Files first, so that a deep heap of rubbish does not hide what lies beside it."""
        folders = []
        for name in self._names(folder):
            with self._refusing(prefix + name):
                if stat.S_ISDIR(self._look(folder, name).st_mode):
                    folders.append(name)
                else:
                    self._files[prefix + name] = self._read(folder, name)
        for name in folders:
            with self._refusing(prefix + name):
                self._descend(folder, name, prefix, depth + 1)

    def _names(self, folder: int) -> list[bytes]:
        """Sorted. A folder that does not fit is left out whole: half of it would be a matter of luck."""
        names = []
        with os.scandir(folder) as found:
            for entry in found:
                self._check_time()
                if self._entries == self._limits.entries:
                    raise _Truncated(f"more than {self._limits.entries} entries")
                self._entries += 1
                names.append(os.fsencode(entry.name))
        return sorted(names)

    def _descend(self, folder: int, name: bytes, prefix: bytes, depth: int) -> None:
        if depth > self._limits.depth:
            raise _Refused("too deep")
        fd = self._open(folder, name)
        try:
            found = os.fstat(fd)
            if not stat.S_ISDIR(found.st_mode):
                raise _Refused("changed while read")
            self._check_device(found)
            self._enter(fd, prefix + name + b"/", depth)
        finally:
            os.close(fd)

    def _look(self, folder: int, name: bytes) -> os.stat_result:
        """What a name is, without opening it: an open can have effects."""
        self._check_time()
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            self._check_file(found)
        return found

    def _read(self, folder: int, name: bytes) -> bytes:
        fd = self._open(folder, name)
        try:
            before = os.fstat(fd)
            # What was looked at may have been replaced since.
            self._check_file(before)
            self._check_device(before)
            if self._bytes + before.st_size > self._limits.total_bytes:
                raise _Truncated(f"more than {self._limits.total_bytes} bytes in all")
            body = self._drain(fd, before.st_size)
            if _state(os.fstat(fd)) != _state(before) or len(body) != before.st_size:
                raise _Refused("changed while read")
        finally:
            os.close(fd)
        self._bytes += len(body)
        return body

    def _drain(self, fd: int, size: int) -> bytes:
        """The file up to `size`, and one byte more if there is one."""
        body = bytearray()
        while len(body) <= size:
            self._check_time()
            part = os.read(fd, min(CHUNK, size + 1 - len(body)))
            if not part:
                break
            body += part
        return bytes(body)

    def _check_file(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise _Refused(_KINDS.get(stat.S_IFMT(found.st_mode), "not a file"))
        if found.st_nlink != 1:
            raise _Refused("hard link")
        allocated, cap = found.st_blocks * 512, self._limits.file_bytes
        if found.st_size > cap or allocated > cap + ROUNDING:
            raise _Refused("sparse" if allocated <= cap else "too large")

    def _check_device(self, found: os.stat_result) -> None:
        if found.st_dev != self._device:
            raise _Refused("other file system")

    def _check_time(self) -> None:
        if self._clock() > self._deadline:
            raise _Truncated(f"more than {self._limits.seconds:g} s")

    @contextmanager
    def _refusing(self, name: bytes) -> Iterator[None]:
        """What goes wrong with one name is noted and ends nothing else."""
        try:
            yield
        except _Refused as reason:
            self._refused.append(Refused(name, str(reason)))
        except OSError as error:
            self._refused.append(Refused(name, _REASONS.get(error.errno or 0, "unreadable")))


_KINDS = {
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFDIR: "changed while read",
}
_REASONS = {
    errno.ELOOP: "link",
    errno.EXDEV: "other file system",
    # It was there, and a file or folder, when its name was read.
    errno.ENOENT: "changed while read",
    errno.ENXIO: "changed while read",
}


def _state(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_nlink)


def _opener(root: int) -> Opener:
    """`openat2` if the kernel has it and no filter forbids it."""
    try:
        os.close(_open_beneath(root, b"."))
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
        return _open_plainly
    return _open_beneath


def _open_beneath(folder: int, name: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_OPENAT2, folder, name, HOW, ctypes.c_size_t(len(HOW)))
    if fd < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(fd)


def _open_plainly(folder: int, name: bytes) -> int:
    """One component, so that only the name itself can be a link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
    return os.open(name, flags, dir_fd=folder)
