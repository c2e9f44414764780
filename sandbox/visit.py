"""One connection to the jailer, from its acceptance to its close, and what it holds meanwhile."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from appliance.errors import SandboxError
from appliance.sandbox import parcels, wire
from appliance.sandbox.jail import Jail
from appliance.sandbox.seat import Peer


class Guest(Protocol):
    """What a visit holds. Called by the jailer's own thread, never to wait."""

    def attend(self) -> bool:
        """The client said something, or is gone. Whether it should be listened to further."""

    def leave(self) -> None:
        """The jailer is about to end: go if there is nothing to finish."""

    def end(self) -> None:
        """End now."""


class OneJail:
    """A jail for a single command: whatever the client does ends it."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    def attend(self) -> bool:
        self._jail.stop()
        return False

    def leave(self) -> None:
        """It has its grace."""

    def end(self) -> None:
        self._jail.stop()


@dataclass(slots=True)
class Visit:
    """One connection."""

    connection: socket.socket
    peer: Peer
    deadline: float
    """When it must have sent its request, in seconds of the monotonic clock."""
    asked: bool = False
    """Its request is there; a thread has it."""
    _guest: Guest | None = None
    _gone: bool = False
    _leaving: bool = False
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, guest: Guest) -> None:
        """Have `guest` end with this visit, which may already be over."""
        with self._lock:
            self._guest = guest
            if self._gone:
                guest.attend()
            if self._leaving:
                guest.leave()
            if self._ended:
                guest.end()

    def attend(self) -> bool:
        """The client said something, or is gone. Whether it should be listened to further."""
        with self._lock:
            if self._guest is None:
                self._gone = True
                return False
            return self._guest.attend()

    def leave(self) -> None:
        """Let the guest go if it is idle, now or as soon as there is one."""
        with self._lock:
            self._leaving = True
            if self._guest is not None:
                self._guest.leave()

    def end(self) -> None:
        """End the guest, now or as soon as there is one."""
        with self._lock:
            self._ended = True
            if self._guest is not None:
                self._guest.end()


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """An OSError in here is this host's, not the connection's."""
    try:
        yield
    except OSError as error:
        remedy = "free memory, or allow more open files (ulimit -n)"
        raise SandboxError(f"the jailer cannot do it: {error}", remedy=remedy) from error


def deliver(connection: socket.socket, answer: wire.Answer, parts: Sequence[bytes] = ()) -> None:
    """Send an answer, and what travels beside it; OSError when the client does not take it."""
    with contextlib.ExitStack() as stack:
        fds = []
        if any(parts):
            with ours():
                fds = [parcels.seal(parts)]
            stack.callback(os.close, fds[0])
        parcels.send(connection, wire.encode_answer(answer), fds)
