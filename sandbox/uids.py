"""One host uid per live jail, from a range nobody else uses.

Two jails with one uid could reach each other through what the kernel keeps per uid (signals across a broken
namespace, keyrings, inotify limits). Leases hold over all processes of the host: a byte of one lock file each,
locked by its open file, so that a lease ends with its holder. Who may not give uids away (root and whoever has the
capabilities SETUID and SETGID may) has one uid for all jails, the caller's own.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox.nsjail import Identity

RANGES = (0x7000_0000, 64_512)
"""Starts of ranges free of users, dynamic services and containers; the second where a user namespace maps 16 bits."""
COUNT = 1000
"""Uids for jails; the one behind them is every zygote's, which runs no candidate code."""
LOCK_FILE = Path("/run/appliance-jail-uids.lock")
CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN = 6, 7, 21
_FLOCK = struct.Struct("hhqqi4x")


class Identities:
    """Leases identities; safe to use from many threads."""

    def __init__(self, lock_file: Path = LOCK_FILE) -> None:
        self._lock = threading.Lock()
        self._taken: set[int] = set()
        self.live = 0
        """Leases held now."""
        self._file = -1
        if has_capabilities(CAP_SETGID, CAP_SETUID):
            self._base = _first_mapped(Path("/proc/self/uid_map").read_text())
            self._file = _open(lock_file)

    @property
    def reserved(self) -> int | None:
        """The first uid of the range; None when there is none to give."""
        return self._base if self._file >= 0 else None

    def lease(self) -> Identity:
        """An identity that no live jail on this host has."""
        with self._lock:
            if self._file < 0:
                self.live += 1
                return Identity(os.geteuid(), os.getegid())
            for index in range(COUNT):
                if index not in self._taken and self._try_lock(index, fcntl.F_WRLCK):
                    self._taken.add(index)
                    self.live += 1
                    return Identity(self._base + index, self._base + index)
        raise SandboxError(f"all {COUNT} jail uids are in use", remedy="run fewer jails at once")

    def release(self, identity: Identity) -> None:
        """Give an identity back, once no process has it."""
        with self._lock:
            self.live -= 1
            if self._file >= 0:
                self._taken.discard(identity.uid - self._base)
                self._try_lock(identity.uid - self._base, fcntl.F_UNLCK)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _try_lock(self, index: int, kind: int) -> bool:
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, index, 1, 0))
        except BlockingIOError:
            return False
        return True


def has_capabilities(*numbers: int) -> bool:
    """Whether this process has all of them in effect."""
    rows = Path("/proc/self/status").read_text().splitlines()
    held = int(next(row.split()[1] for row in rows if row.startswith("CapEff:")), 16)
    return all(held >> number & 1 for number in numbers)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise SandboxError(
            f"cannot lease jail uids: {error}", remedy=f"make {path.parent} writable"
        ) from error


def _first_mapped(uid_map: str) -> int:
    """The first of our ranges that exists in this user namespace."""
    rows = [[int(part) for part in line.split()] for line in uid_map.splitlines()]
    for base in RANGES:
        if any(inside <= base and base + COUNT < inside + count for inside, _, count in rows):
            return base
    raise SandboxError(
        "no room for jail uids in this user namespace", remedy="run outside of it, or without root"
    )
