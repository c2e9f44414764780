"""The ledger of verdicts: one entry for every verdict that was reached, each bound to the one before it.

hash = SHA-256(previous hash, newline, canonical JSON of [seq, time, kind, attempt, status, reward, task_hash,
verifier_hash, env_hash, artefact_hash, seed, body]); `body` is the SHA-256 of the whole verdict's canonical JSON. An
entry says enough to judge the same submission again with the same seed, and an edited verdict no longer fits its entry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Literal

from appliance.errors import IntegrityError
from appliance.nouns import Verdict

GENESIS = "0" * 64
Kind = Literal["judged", "rejudged"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger; the fields in the order in which they are hashed, the two hashes last."""

    seq: int
    time: float
    """Unix seconds."""
    kind: Kind
    attempt_id: str
    status: str
    reward: float | None
    task_hash: str
    verifier_hash: str
    env_hash: str
    artefact_hash: str
    seed: int
    body: str
    previous: str
    hash: str


def entry(previous: Entry | None, time: float, kind: Kind, attempt_id: str, verdict: Verdict) -> Entry:
    """The entry of a verdict that follows `previous` (None: it is the first)."""
    seq = previous.seq + 1 if previous else 1
    before = previous.hash if previous else GENESIS
    content = (
        *(seq, time, kind, attempt_id, verdict.status, verdict.reward),
        *(verdict.task_hash, verdict.verifier_hash, verdict.env_hash, verdict.artefact_hash),
        *(verdict.seed, body_hash(verdict.to_json())),
    )
    return Entry(*content, before, _hash(before, content))


def body_hash(verdict: Mapping[str, Any]) -> str:
    """The SHA-256 of a verdict as plain data."""
    return hashlib.sha256(_canonical(verdict)).hexdigest()


def verify(entries: Iterable[Entry]) -> int:
    """Recompute the ledger and return its length; IntegrityError names the first entry that does not hold."""
    before, count = GENESIS, 0
    for count, found in enumerate(entries, start=1):
        content = astuple(found)[:-2]
        if (found.seq, found.previous, found.hash) != (count, before, _hash(before, content)):
            raise IntegrityError(
                f"verdict {found.seq} does not follow the ledger", remedy="compare with a backup"
            )
        before = found.hash
    return count


def _hash(before: str, content: tuple[Any, ...]) -> str:
    return hashlib.sha256(f"{before}\n".encode() + _canonical(content)).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
