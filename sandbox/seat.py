"""The jailer's place on the host: its lock, its socket, who may come to it, and word to systemd.

One jailer per socket. The lock is held by an open file and so ends with its process, however that ends; only its
holder may take away a socket file, and only one on which nobody answers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import SandboxError
from appliance.paths import runtime_folder

MODE = 0o660
LONGEST_PATH = 107
"""Bytes of a socket's path that the kernel takes."""
BACKLOG = 512
SO_PEERGROUPS = 59
"""Not among Python's constants."""
_MOST_GROUP_BYTES = 1024
_CREDENTIALS = struct.Struct("iII")


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end, as the kernel says; the pid may be another's by now."""

    pid: int
    uid: int
    groups: frozenset[int]

    def __str__(self) -> str:
        return f"uid {self.uid} pid {self.pid}"


def peer_of(connection: socket.socket) -> Peer:
    """The peer's credentials at the time it connected."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    # More groups than fit are an error; such a peer counts by its first one.
    more = b""
    with contextlib.suppress(OSError):
        more = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, _MOST_GROUP_BYTES)
    return Peer(pid, uid, frozenset({gid, *struct.unpack(f"{len(more) // 4}I", more)}))


class Seat:
    """The taken seat; SandboxError when another has it or the path cannot be used."""

    def __init__(self, path: Path) -> None:
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise SandboxError(f"{path}: too long for a socket", remedy="give a shorter --socket")
        self._path = path
        with contextlib.ExitStack() as stack:
            try:
                lock = _take_lock(path.with_name(f"{path.name}.lock"))
                stack.callback(os.close, lock)
                _clear(path)
                self.listener = _listen(path)
            except OSError as error:
                remedy = "give a --socket in a folder that is there and that you may write to"
                raise SandboxError(f"cannot listen at {path}: {error}", remedy=remedy) from error
            self._group = path.stat().st_gid
            self._stack = stack.pop_all()

    def admits(self, peer: Peer) -> bool:
        """Whether `peer` is root, ourselves, or in the group that the socket's file lets in."""
        return peer.uid in (0, os.geteuid()) or self._group in peer.groups

    def close(self) -> None:
        """Stop listening and leave; does nothing the second time."""
        if self.listener.fileno() >= 0:
            self.listener.close()
            self._path.unlink(missing_ok=True)
        self._stack.close()


def _take_lock(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise SandboxError(
            f"another jailer holds {path}", remedy="stop it, or give this one another --socket"
        ) from None
    return fd


def _clear(path: Path) -> None:
    """Remove a dead socket; anything else at its place stays and is an error."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise SandboxError(
                f"{path} is there and is no socket", remedy="move it, or give another --socket"
            )
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise SandboxError(f"somebody already answers at {path}", remedy="stop it, or give another --socket")


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(str(path))
        # Until we listen nobody can connect, so the mode is right before it matters.
        path.chmod(MODE)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def default_path(env: Mapping[str, str]) -> Path:
    """Where a jailer's socket is unless somebody says otherwise."""
    return runtime_folder(env, root=os.geteuid() == 0) / "jailer.sock"


def announce(state: str) -> None:
    """Tell systemd, when it is there to be told."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.sendto(state.encode(), address)
