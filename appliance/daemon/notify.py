"""Word to the service manager over $NOTIFY_SOCKET: ready, what is being done, still well, stopping.

Without that variable every call does nothing. A manager that cannot be reached is no reason to fail: the service
works without it, so errors of the socket are swallowed.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

from appliance.clean import clean_line

STATUS_CHARS = 200
MICROSECONDS = 1_000_000


class Notifier:
    """Speaks to the manager that `env` names. Safe to use from many threads: each word is one datagram."""

    def __init__(self, env: Mapping[str, str]) -> None:
        address = env.get("NOTIFY_SOCKET", "")
        # An address that begins with @ lies in the abstract name space, where it begins with a zero byte.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address

    def ready(self, text: str = "") -> None:
        """The service can do its work now."""
        self._send("READY=1", *_status(text))

    def status(self, text: str) -> None:
        """One line for `systemctl status`; it may hold what a model or a user wrote."""
        self._send(*_status(text))

    def alive(self) -> None:
        """Put off the watchdog."""
        self._send("WATCHDOG=1")

    def stopping(self, text: str = "") -> None:
        """The service has begun to end."""
        self._send("STOPPING=1", *_status(text))

    def extend(self, seconds: float) -> None:
        """Ask for this much time from now for the start or the stop that is going on."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * MICROSECONDS)}")

    def _send(self, *lines: str) -> None:
        if not self._address or not lines:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            # A manager that does not read must not hold up the caller.
            line.setblocking(False)
            line.sendto("\n".join(lines).encode(), os.fsencode(self._address))


def _status(text: str) -> tuple[str, ...]:
    line = clean_line(text, STATUS_CHARS)
    return (f"STATUS={line}",) if line else ()


def watchdog_seconds(env: Mapping[str, str], pid: int) -> float | None:
    """How long the manager waits for `alive` before it ends us; None when it does not watch this process."""
    text = env.get("WATCHDOG_USEC", "")
    if not text.isdecimal() or env.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    return int(text) / MICROSECONDS or None
