"""The verifier's key: what makes the cases of a group impossible to predict from what a candidate can know.

seed = HMAC-SHA-256(key, group, task hash, verifier hash), cut to 63 bits: one seed for all siblings of a group, so
that they meet the same cases, and another one for the next group of the task. The key never leaves the machine's
data folder; with a copy of it the same run meets the same cases elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from appliance.errors import IntegrityError, StoreError
from appliance.nouns import Task
from appliance.orders import SEED_BITS
from appliance.verdicts import verifier_hash

KEY_BYTES = 32


class Seal:
    """Draws the seeds of judgings with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seed(self, group_id: str, task: Task) -> int:
        """The seed of every judging in a group."""
        return self.number("judge", group_id, task.task_hash, verifier_hash(task.kind))

    def number(self, *parts: str) -> int:
        """A 63-bit number from everything that names a draw; equal parts, equal number."""
        digest = hmac.digest(self._key, "\x1f".join(parts).encode(), hashlib.sha256)
        return int.from_bytes(digest[:8], "big") >> 64 - SEED_BITS


def seal_at(path: Path) -> Seal:
    """The seal whose key lies at `path`, made when there is none. StoreError, and IntegrityError for a damaged key."""
    try:
        key = _read(path) or _make(path)
    except OSError as error:
        raise StoreError(
            f"{path}: {error.strerror}", remedy="make its folder writable, or set APPLIANCE_HOME"
        ) from error
    if len(key) != KEY_BYTES:
        raise IntegrityError(
            f"{path} is damaged: {len(key)} bytes, not {KEY_BYTES}",
            remedy="restore it from a backup, or remove it: verdicts keep their own seeds",
        )
    return Seal(key)


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _make(path: Path) -> bytes:
    """Write the key whole and under its name at once; who comes second takes what the first one wrote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink()
    return path.read_bytes()
