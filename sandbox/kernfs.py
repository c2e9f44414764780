"""Files of the kernel's own file systems, read and written in as few system calls as it takes.

A jail's cgroup is made, asked and removed on the way of every verdict, where opening through `pathlib` costs more than
the kernel's work. Nothing here creates a file: one that is missing stays a FileNotFoundError.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

READ_BYTES = 4096
GONE = (errno.ENOENT, errno.ENODEV)
"""What a file of a cgroup that was removed answers, not yet opened and already open."""


def tree(folder: str) -> list[str]:
    """A folder after every folder below it."""
    # Two links and one per folder below: the common case costs one call.
    if os.stat(folder).st_nlink <= 2:  # noqa: PTH116
        return [folder]
    with os.scandir(folder) as entries:
        below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [path for child in below for path in tree(child)] + [folder]


def removed(folder: str) -> bool:
    """Remove a leaf's folder, with any below it; False while something is in one."""
    try:
        os.rmdir(folder)  # noqa: PTH106
    except FileNotFoundError:
        return True
    except OSError:
        with gone_is_fine():
            below = tree(folder)[:-1]
            return bool(below) and all(map(removed, [*below, folder]))
    return True


@contextlib.contextmanager
def gone_is_fine() -> Iterator[None]:
    """What of a cgroup is already removed needs nothing done to it."""
    try:
        yield
    except OSError as error:
        if error.errno not in GONE:
            raise


def written(path: str, text: str) -> str:
    """Write, and read back through the same open file."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
        return os.pread(fd, READ_BYTES, 0).decode().strip()
    finally:
        os.close(fd)


def write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, READ_BYTES):
            parts.append(part)
            # A long list comes in pieces of nearly this size; whatever is shorter has ended.
            if len(part) < READ_BYTES // 2:
                break
        return b"".join(parts).decode()
    finally:
        os.close(fd)


def optional(path: str) -> int | None:
    """A number that older kernels do not have."""
    try:
        return int(read(path))
    except FileNotFoundError:
        return None


def table(path: str) -> dict[str, int]:
    """A file of `name number` lines."""
    pairs = (line.partition(" ") for line in read(path).splitlines())
    return {name: int(number) for name, _, number in pairs}


def swap_is_on(swaps: str = "/proc/swaps") -> bool:
    """Whether this host has anywhere to swap to; the first line is a heading."""
    try:
        return read(swaps).count("\n") > 1
    except FileNotFoundError:
        # A kernel without swap.
        return False


def numbers(text: str) -> set[int]:
    """The members of a list such as `0-1,3`."""
    parts = [part.partition("-") for part in text.split(",") if part]
    return {number for low, dash, high in parts for number in range(int(low), int(high if dash else low) + 1)}
