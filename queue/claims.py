"""Which job starts next: weighted fair share between classes, then priority, then age.

Between the classes of a pool by start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996) over estimated CPU seconds:
each class is charged cost / weight for what it starts, and the class that is least ahead goes first. A class that was
idle starts level with the others, so it can neither save up nor be made to pay. Every class that waits is served after
at most the sum of what one job of each other class costs, in proportion to the weights.

Within a class by priority; of one submission the longest first, so that no long job begins when the others are
done. One claim in `AGED_SHARE` goes to the job that waits longest, once that is `AGE_S` or more: whatever comes in
with a higher priority, the job that is n-th oldest starts within n * `AGED_SHARE` claims of its class after that.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from appliance.queue import estimates, jobs
from appliance.queue.file import QueueFile
from appliance.queue.records import WEIGHTS, Claimant, Job

AGE_S = 60.0
AGED_SHARE = 8

_DUE = "SELECT seq FROM jobs WHERE class = ? AND state = 'queued' AND not_before <= ?"
_FIRST = f"{_DUE} ORDER BY priority DESC, batch, cost DESC, seq LIMIT 1"
_FIRST_SHORT = f"{_DUE} AND cost <= 1 ORDER BY priority DESC, batch, cost DESC, seq LIMIT 1"
_OLDEST = _DUE.replace("seq", "seq, submitted", 1) + " ORDER BY seq LIMIT 1"


def claim(file: QueueFile, classes: Sequence[str], claimant: Claimant, *, short: bool = False) -> Job | None:
    """Lease the job of these classes that is next, or return None.

    Jobs past their deadline expire instead, and so does one that cannot be done before it.
    `short`: only one that is expected to cost little.
    """
    with file.write() as connection:
        jobs.expire_late(connection, claimant.now)
        for start, class_, claims in _in_turn(connection, classes):
            while (seq := _next(connection, class_, claims, claimant.now, short=short)) is not None:
                if not _expire_hopeless(connection, seq, claimant.now):
                    return _lease(connection, seq, start, claimant)
    return None


def _expire_hopeless(connection: sqlite3.Connection, seq: int, now: float) -> bool:
    """Close a job whose deadline is nearer than the shortest time any like it took, if it is one."""
    row = connection.execute("SELECT class, label, deadline FROM jobs WHERE seq = ?", (seq,)).fetchone()
    if row["deadline"] is None:
        return False
    least_s = estimates.least_s(connection, row["class"], row["label"])
    if least_s is None or now + least_s <= row["deadline"]:
        return False
    why = f"{row['deadline'] - now:.3g} s before its deadline; the shortest like it took {least_s:.3g} s"
    jobs.expire_one(connection, seq, why, now)
    return True


def _in_turn(connection: sqlite3.Connection, classes: Sequence[str]) -> list[tuple[float, str, int]]:
    """The classes, the one that is least ahead first, with the virtual time at which it would start."""
    rows = {row["class"]: row for row in connection.execute("SELECT class, share, claims FROM classes")}
    now = rows[""]["share"]
    return sorted((max(now, rows[name]["share"]), name, rows[name]["claims"]) for name in classes)


def _next(connection: sqlite3.Connection, class_: str, claims: int, now: float, *, short: bool) -> int | None:
    if short:
        row = connection.execute(_FIRST_SHORT, (class_, now)).fetchone()
        return row and int(row["seq"])
    if claims % AGED_SHARE == AGED_SHARE - 1:
        row = connection.execute(_OLDEST, (class_, now)).fetchone()
        if row and row["submitted"] <= now - AGE_S:
            return int(row["seq"])
    row = connection.execute(_FIRST, (class_, now)).fetchone()
    return row and int(row["seq"])


def _lease(connection: sqlite3.Connection, seq: int, start: float, claimant: Claimant) -> Job:
    row = connection.execute(
        "UPDATE jobs SET state = 'leased', attempts = attempts + 1, token = token + 1,"
        " owner = ?, started = ?, lease_until = ? WHERE seq = ? RETURNING *",
        (claimant.owner, claimant.now, claimant.lease_until, seq),
    ).fetchone()
    end = start + row["cost"] / WEIGHTS[row["class"]]
    connection.execute(
        "UPDATE classes SET share = iif(class = '', ?, ?), claims = claims + 1 WHERE class IN ('', ?)",
        (start, end, row["class"]),
    )
    return jobs.to_job(row)
