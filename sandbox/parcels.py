"""What travels beside a message between two processes: descriptors, and bytes in a sealed memory file.

Sealed, a memory file can neither change nor shrink while it is read, whoever else holds it. A descriptor that is not
such a file (a device, a pipe, a file on a network that never answers) is never read from.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterable, Iterator, Sequence

SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
MAX_FDS = 4
"""That a message may bring; of more, the kernel lets none in."""
CHUNK = 8 << 20


def seal(parts: Iterable[bytes]) -> int:
    """A sealed memory file of these parts; OSError when there is no memory for it."""
    fd = os.memfd_create("parcel", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(fd, "wb", closefd=False) as file:
            for part in parts:
                file.write(part)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def size(fd: int, most: int) -> int:
    """The bytes of a sealed memory file, counted; ValueError when it is none, or longer than `most`."""
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    if seals & SEALS != SEALS:
        raise ValueError("a descriptor that is not a sealed memory file")
    found = os.fstat(fd).st_size
    if found > most:
        raise ValueError(f"{found} bytes where {most} are allowed")
    return found


def unseal(fd: int, most: int) -> bytes:
    """The bytes themselves; ValueError as for `size`."""
    return b"".join(os.pread(fd, CHUNK, at) for at in range(0, size(fd, most), CHUNK))


def send(line: socket.socket, message: bytes, fds: Sequence[int] = ()) -> None:
    """One message and descriptors; OSError or TimeoutError when it cannot be delivered."""
    # Without descriptors no ancillary data at all: an empty array is an error on some kernels.
    if fds:
        socket.send_fds(line, [message], fds)
    else:
        line.send(message)


@contextlib.contextmanager
def received(line: socket.socket, most: int) -> Iterator[tuple[bytes, list[int]]]:
    """One message of at most `most` bytes, empty at the end, and the descriptors that came with it.

    Descriptors still in the list at the end of the block are closed; take one out to keep it. ValueError when the
    message is longer or brought more of them than a message may.
    """
    body, fds, flags, _ = socket.recv_fds(line, most, MAX_FDS, socket.MSG_CMSG_CLOEXEC)
    try:
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise ValueError("a message that is too long, or brings too many descriptors")
        yield body, fds
    finally:
        for fd in fds:
            os.close(fd)
