"""The daemon's place: the socket it listens at, its own or one that systemd hands over.

The file is there for its owner, root and its group alone; who may write to it may give orders.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

from appliance.errors import StoreError

MODE = 0o660
LONGEST_PATH = 107
"""Bytes of a socket's path that the kernel takes."""
BACKLOG = 512
FIRST_PASSED = 3
"""The first descriptor that systemd passes."""


@contextmanager
def listening(path: Path, env: MutableMapping[str, str]) -> Iterator[socket.socket]:
    """Listen at `path`, or at the socket passed by systemd, which stays when we leave. Raises StoreError."""
    passed = _passed(env)
    if passed is not None:
        with passed:
            yield passed
        return
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise StoreError(f"{path}: too long for a socket", remedy="give a shorter --socket")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path)
        listener = _listen(path)
    except OSError as error:
        raise StoreError(
            f"cannot listen at {path}: {error.strerror}",
            remedy="give a --socket in a folder you may write to",
        ) from error
    try:
        with listener:
            yield listener
    finally:
        path.unlink(missing_ok=True)


def _passed(env: MutableMapping[str, str]) -> socket.socket | None:
    """The socket of systemd's activation. The variables are for us alone, so children must not see them."""
    count, pid = env.pop("LISTEN_FDS", ""), env.pop("LISTEN_PID", "")
    env.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or count in ("", "0"):
        return None
    found = socket.socket(fileno=FIRST_PASSED)
    if count != "1" or (found.family, found.type) != (socket.AF_UNIX, socket.SOCK_STREAM):
        raise StoreError(
            f"{count} sockets were passed, or one that is no Unix stream socket",
            remedy="one ListenStream= with a path in the socket unit",
        )
    os.set_inheritable(FIRST_PASSED, False)
    return found


def _clear(path: Path) -> None:
    """Remove a dead socket; anything else at its place stays and is an error."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise StoreError(f"{path} is there and is no socket", remedy="move it, or give another --socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
    raise StoreError(f"somebody already answers at {path}", remedy="stop it, or give another --socket")


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        # Until we listen nobody can connect, so the mode is right before it matters.
        path.chmod(MODE)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
