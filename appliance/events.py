"""The append-only event chain: each link's hash covers the one before it, so an edit shows.

hash = SHA-256(previous hash, newline, canonical JSON of [seq, time, run_id, kind, actor, data]).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from appliance.errors import IntegrityError
from appliance.nouns import Event

GENESIS = "0" * 64


def link(
    previous: Event | None, time: float, run_id: str, kind: str, actor: int, data: Mapping[str, Any]
) -> Event:
    """Return the event that follows `previous`; `time` in Unix seconds, `actor` a numeric uid."""
    seq = previous.seq + 1 if previous else 1
    before = previous.hash if previous else GENESIS
    return Event(
        seq, time, run_id, kind, actor, data, before, _hash(before, seq, time, run_id, kind, actor, data)
    )


def verify(events: Iterable[Event]) -> int:
    """Recompute the chain and return its length; IntegrityError names the first link that does not hold."""
    before, count = GENESIS, 0
    for count, event in enumerate(events, start=1):
        wanted = _hash(before, count, event.time, event.run_id, event.kind, event.actor, event.data)
        if (event.seq, event.previous, event.hash) != (count, before, wanted):
            raise IntegrityError(
                f"event {event.seq} does not follow the chain", remedy="compare with a backup"
            )
        before = event.hash
    return count


def compare(chain: Iterable[Event], path: Path) -> int:
    """How many events the copy at `path` (a run's `events.jsonl`) holds; IntegrityError for one that the chain lacks.

    The chain alone cannot show that its newest links were cut off. A copy may hold less: it is written second.
    """
    known = {event.hash for event in chain}
    lines = path.read_bytes().splitlines() if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        if _hash_in(line) not in known:
            raise IntegrityError(
                f"{path}: line {number} is no event of the store", remedy="compare both with a backup"
            )
    return len(lines)


def _hash_in(line: bytes) -> str:
    """The hash that a line of a copy leads to by its content; nothing for what is no event."""
    try:
        row = json.loads(line)
        content = [row[name] for name in ("previous", "seq", "time", "run_id", "kind", "actor", "data")]
    except (ValueError, KeyError, TypeError):
        return ""
    return _hash(*content)


def _hash(before: str, *content: Any) -> str:
    body = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{body}".encode()).hexdigest()
