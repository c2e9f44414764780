"""A second copy of a job that takes much longer than its like: the first copy that is done decides.

After Dean and Barroso, The Tail at Scale (2013): only past the 95th percentile of its own label, so that what is slow
by nature is left alone, and only while there are tokens, which finished jobs earn. What happens when a copy ends is in
the triggers of the queue file; its worker is told like that of any cancelled job.
"""

from __future__ import annotations

import sqlite3

from appliance.queue import estimates
from appliance.queue.file import QueueFile

AHEAD = 1_000
"""Priority of a copy over its job: what it can still save, it saves now."""
LEAST_S = 0.1
"""Nothing is gained by a copy of a job this short."""

_RUNNING = (
    "SELECT seq, class, label, started FROM jobs AS job WHERE state = 'leased' AND class = ? AND label <> ''"
    " AND copy_of IS NULL AND started < ? AND NOT EXISTS (SELECT 1 FROM jobs WHERE copy_of = job.seq)"
    " ORDER BY started"
)


def hedge(file: QueueFile, class_: str, now: float) -> int:
    """Queue a copy of every job of a class that is late, as far as tokens go; return how many."""
    with file.read() as connection:
        late = _late(connection, class_, now)
    if not late:
        return 0
    with file.write() as connection:
        tokens = connection.execute("SELECT tokens FROM classes WHERE class = ?", (class_,)).fetchone()[0]
        copied = sum(_copy(connection, seq, now) for seq in late[: int(tokens)])
        connection.execute("UPDATE classes SET tokens = tokens - ? WHERE class = ?", (copied, class_))
    return copied


def _late(connection: sqlite3.Connection, class_: str, now: float) -> list[int]:
    found = []
    for row in connection.execute(_RUNNING, (class_, now - LEAST_S)).fetchall():
        tail_s = estimates.tail_s(connection, class_, row["label"])
        if tail_s is not None and now - row["started"] > max(tail_s, LEAST_S):
            found.append(int(row["seq"]))
    return found


def _copy(connection: sqlite3.Connection, seq: int, now: float) -> int:
    return connection.execute(
        "INSERT INTO jobs (class, grp, priority, payload, max_attempts, deadline, submitted, label, batch, cost,"
        " copy_of)"
        " SELECT class, grp, priority + ?, payload, 1, deadline, ?, label, batch, cost, seq FROM jobs"
        " WHERE seq = ? AND state = 'leased'",
        (AHEAD, now, seq),
    ).rowcount
