"""Jobs: what is to be done, who holds it, how it ended. `claims` says which is next.

A job is queued until a worker claims it. A claim raises `attempts` and `token` in one statement; whatever the
worker reports later counts only while the job is still leased under that token, so a worker that went silent
and comes back cannot overwrite a newer attempt. Every attempt that ends, however it ends, adds one row to
`job_attempts`; no row there is ever changed.

Times are Unix seconds, except `lease_until`: seconds of the monotonic clock, which all processes of one boot
share and which no clock change moves.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from appliance.errors import NotFoundError, UsageError
from appliance.queue import estimates
from appliance.queue.file import QueueFile
from appliance.queue.records import Job, Report, Request, to_json

LONG_FACTOR = 3.0
"""What a job is expected to take that went over a first try, in tries: it may use no slot for short ones."""
LOOKED_BACK = 2_000
"""Attempts that a rate is taken from, at most."""

# submitting

_LAST = "SELECT seq FROM sqlite_sequence WHERE name = 'jobs'"


def insert(
    connection: sqlite3.Connection, request: Request, batch: int | None, cost_s: float, now: float
) -> tuple[str, bool]:
    """Queue a job; return its id and whether it is new. Raises UsageError when its key names another job.

    `batch`: the one it is of; None: it is one of its own.
    """
    payload = to_json(request.payload)
    deadline = None if request.deadline_s is None else now + request.deadline_s
    row = connection.execute(
        "INSERT INTO jobs (class, grp, key, priority, payload, max_attempts, deadline, submitted, label, batch, cost)"
        f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, ({_LAST}) + 1, 1), ?)"
        " ON CONFLICT (key) DO NOTHING RETURNING seq",
        (
            *(request.class_, request.group, request.key, request.priority, payload),
            *(request.max_attempts, deadline, now, request.label, batch, cost_s),
        ),
    ).fetchone()
    if row:
        return _to_id(row["seq"]), True
    known = connection.execute("SELECT * FROM jobs WHERE key = ?", (request.key,)).fetchone()
    if (known["class"], known["payload"]) != (request.class_, payload):
        raise UsageError(
            f"the key {request.key!r} already names another job of class {known['class']}",
            remedy="one key, one piece of work",
        )
    return _to_id(known["seq"]), False


def next_seq(connection: sqlite3.Connection) -> int:
    """The number of the next job; also the name of the batch that begins with it."""
    row = connection.execute(_LAST).fetchone()
    return 1 + (row["seq"] if row else 0)


def queued(connection: sqlite3.Connection, class_: str) -> int:
    """How many jobs of a class wait."""
    row = connection.execute("SELECT queued FROM classes WHERE class = ?", (class_,)).fetchone()
    return int(row["queued"])


def rate(connection: sqlite3.Connection, class_: str, since: float, now: float) -> float:
    """Jobs of a class that have ended per second since then."""
    ended = connection.execute(
        "SELECT count(*) FROM (SELECT job_attempts.finished FROM job_attempts JOIN jobs USING (seq)"
        " WHERE class = ? ORDER BY seq DESC LIMIT ?) WHERE finished > ?",
        (class_, LOOKED_BACK, since),
    ).fetchone()[0]
    return float(ended / max(now - since, 1e-9))


# working


def finish(file: QueueFile, job: Job, report: Report, now: float) -> bool:
    """Record how an attempt ended. False, and nothing recorded, when its lease is no longer the job's."""
    finished = None if report.state == "queued" else now
    deferred = report.ending == "deferred"
    # An attempt that was cut short by us is not held against the job.
    used = job.attempts - (deferred or report.ending == "released")
    cost_s = LONG_FACTOR * report.seconds if deferred else 0.0
    with file.write() as connection:
        changed = connection.execute(
            "UPDATE jobs SET state = ?, attempts = ?, not_before = ?, finished = ?, result = ?, error_kind = ?,"
            " error = ?, long = max(long, ?), cost = max(cost, ?) WHERE seq = ? AND token = ? AND state = 'leased'",
            (
                *(report.state, used, report.not_before, finished, report.result, report.error_kind),
                *(report.error, deferred, cost_s, _to_seq(job.id), job.token),
            ),
        ).rowcount
        if changed:
            _log(connection, job, report, now)
            if report.ending == "done":
                estimates.learn(connection, job, report)
    return bool(changed)


def renew(file: QueueFile, jobs: Iterable[Job], lease_until: float) -> None:
    """Extend the leases that still are these jobs'."""
    with file.write() as connection:
        connection.executemany(
            "UPDATE jobs SET lease_until = ? WHERE seq = ? AND token = ? AND state = 'leased'",
            [(lease_until, _to_seq(job.id), job.token) for job in jobs],
        )


def held(file: QueueFile, jobs: Iterable[Job]) -> set[str]:
    """The ids of those jobs that are still leased under the token they were claimed with."""
    wanted = {_to_seq(job.id): job.token for job in jobs}
    with file.read() as connection:
        rows = connection.execute(
            "SELECT seq, token FROM jobs WHERE state = 'leased' AND seq IN (SELECT value FROM json_each(?))",
            (json.dumps(list(wanted)),),
        ).fetchall()
    return {_to_id(row["seq"]) for row in rows if wanted[row["seq"]] == row["token"]}


# sweeping


def expire(file: QueueFile, now: float) -> int:
    """Close the queued jobs that are past their deadline; return how many."""
    with file.read() as connection:
        late = connection.execute(f"SELECT 1 FROM jobs WHERE {_LATE} LIMIT 1", (now,)).fetchone()
    if not late:
        return 0
    with file.write() as connection:
        return expire_late(connection, now)


_LATE = "state = 'queued' AND deadline IS NOT NULL AND deadline <= ?"


def expire_late(connection: sqlite3.Connection, now: float) -> int:
    """The same within a transaction."""
    return connection.execute(
        "UPDATE jobs SET state = 'expired', finished = ?, error_kind = 'deadline',"
        f" error = 'not started before its deadline' WHERE {_LATE}",
        (now, now),
    ).rowcount


def expire_one(connection: sqlite3.Connection, seq: int, why: str, now: float) -> None:
    """Close a queued job whose deadline cannot be met."""
    connection.execute(
        "UPDATE jobs SET state = 'expired', finished = ?, error_kind = 'deadline', error = ? WHERE seq = ?",
        (now, why, seq),
    )


def owners(file: QueueFile) -> list[str]:
    """Who holds leases."""
    with file.read() as connection:
        rows = connection.execute("SELECT DISTINCT owner FROM jobs WHERE state = 'leased'").fetchall()
    return [row["owner"] for row in rows]


def leased(file: QueueFile, dead: Sequence[str], monotonic: float) -> list[Job]:
    """The jobs whose lease is void: it has run out, or its owner is one of the dead."""
    with file.read() as connection:
        rows = connection.execute(
            "SELECT * FROM jobs WHERE state = 'leased'"
            " AND (lease_until < ? OR owner IN (SELECT value FROM json_each(?))) ORDER BY seq",
            (monotonic, json.dumps(list(dead))),
        ).fetchall()
    return [to_job(row) for row in rows]


def due(file: QueueFile, classes: Sequence[str], now: float, at_most: int) -> int:
    """How many jobs of these classes could be claimed now, counted up to `at_most` of each."""
    return sum(_due(file, class_, now, at_most) for class_ in classes)


def _due(file: QueueFile, class_: str, now: float, at_most: int) -> int:
    with file.read() as connection:
        return int(
            connection.execute(
                "SELECT count(*) FROM (SELECT 1 FROM jobs"
                " WHERE class = ? AND state = 'queued' AND not_before <= ? LIMIT ?)",
                (class_, now, at_most),
            ).fetchone()[0]
        )


# cancelling


def cancel(file: QueueFile, now: float, *, ids: Sequence[str] = (), group: str = "") -> int:
    """Cancel these jobs or every open job of a group; return how many were open.

    A worker that holds one is told by its heartbeat, and its report is refused.
    """
    value = json.dumps([_to_seq(id_) for id_ in ids]) if ids else group
    which = "seq IN (SELECT value FROM json_each(?))" if ids else "grp = ?"
    with file.write() as connection:
        rows = connection.execute(
            f"SELECT * FROM jobs WHERE {which} AND state IN ('queued', 'leased')", (value,)
        ).fetchall()
        for job in map(to_job, rows):
            if job.state == "leased":
                _log(connection, job, Report("cancelled", "cancelled"), now)
        connection.execute(
            "UPDATE jobs SET state = 'cancelled', finished = ?, error_kind = 'cancelled',"
            f" error = 'cancelled' WHERE {which} AND state IN ('queued', 'leased')",
            (now, value),
        )
    return len(rows)


# reading


def load(file: QueueFile, ids: Sequence[str]) -> list[Job]:
    """Return the jobs in the order asked for. Raises NotFoundError."""
    wanted = [_to_seq(id_) for id_ in ids]
    with file.read() as connection:
        rows = connection.execute(
            "SELECT * FROM jobs WHERE seq IN (SELECT value FROM json_each(?))", (json.dumps(wanted),)
        ).fetchall()
    found = {row["seq"]: to_job(row) for row in rows}
    if missing := [seq for seq in wanted if seq not in found]:
        raise NotFoundError(f"no job {_to_id(missing[0])}", remedy="see the queued and recent jobs")
    return [found[seq] for seq in wanted]


def count_open(file: QueueFile, ids: Sequence[str]) -> int:
    """How many of these jobs are not finished; cheap enough to ask often."""
    with file.read() as connection:
        return int(
            connection.execute(
                "SELECT count(*) FROM jobs WHERE seq IN (SELECT value FROM json_each(?))"
                " AND state IN ('queued', 'leased')",
                (json.dumps([_to_seq(id_) for id_ in ids]),),
            ).fetchone()[0]
        )


def select(file: QueueFile, filters: Mapping[str, str], limit: int) -> list[Job]:
    """The newest jobs first that match every filter of `class`, `state` and `group`."""
    columns = {"class": "class", "state": "state", "group": "grp"}
    where = " AND ".join(["1", *(f"{columns[name]} = ?" for name in filters)])
    with file.read() as connection:
        rows = connection.execute(
            f"SELECT * FROM jobs WHERE {where} ORDER BY seq DESC LIMIT ?", (*filters.values(), limit)
        ).fetchall()
    return [to_job(row) for row in rows]


def counts(file: QueueFile) -> dict[str, dict[str, int]]:
    """Number of jobs by class and state, over everything the file holds."""
    table: dict[str, dict[str, int]] = {}
    with file.read() as connection:
        rows = connection.execute("SELECT class, state, count(*) FROM jobs GROUP BY class, state").fetchall()
    for class_, state, number in rows:
        table.setdefault(class_, {})[state] = number
    return table


def depth(file: QueueFile) -> dict[str, int]:
    """Number of open jobs by class; finished ones cost nothing."""
    with file.read() as connection:
        rows = connection.execute(
            "SELECT class, count(*) FROM (SELECT class FROM jobs WHERE state = 'queued'"
            " UNION ALL SELECT class FROM jobs WHERE state = 'leased') GROUP BY class"
        ).fetchall()
    return dict(map(tuple, rows))


def history(file: QueueFile, id_: str) -> list[dict[str, Any]]:
    """The attempts at a job that have ended, oldest first."""
    with file.read() as connection:
        rows = connection.execute(
            "SELECT attempt, token, owner, started, finished, outcome, error_kind, error, trace"
            " FROM job_attempts WHERE seq = ? ORDER BY token",
            (_to_seq(id_),),
        ).fetchall()
    return [dict(row) for row in rows]


# shared


def _log(connection: sqlite3.Connection, job: Job, report: Report, now: float) -> None:
    begun = job.started or now
    wait = max(0.0, begun - max(job.submitted, job.not_before))
    connection.execute(
        "INSERT INTO job_attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(_to_seq(job.id), job.attempts, job.token, job.owner, job.started, now),
            *(report.ending, report.error_kind, report.error, report.trace),
            *(wait, report.start_s, report.seconds, report.teardown_s),
        ),
    )


def _to_id(seq: int) -> str:
    return f"j{seq}"


def _to_seq(id_: str) -> int:
    if not re.fullmatch(r"j[0-9]{1,18}", id_):
        raise NotFoundError(f"no job {id_!r}", remedy="a job id is j and a number, as in j17")
    return int(id_[1:])


def to_job(row: sqlite3.Row) -> Job:
    return Job(
        id=_to_id(row["seq"]),
        class_=row["class"],
        group=row["grp"],
        key=row["key"],
        state=row["state"],
        priority=row["priority"],
        payload=json.loads(row["payload"]),
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        not_before=row["not_before"],
        deadline=row["deadline"],
        owner=row["owner"],
        token=row["token"],
        submitted=row["submitted"],
        started=row["started"],
        finished=row["finished"],
        result=None if row["result"] is None else json.loads(row["result"]),
        error_kind=row["error_kind"],
        error=row["error"],
        label=row["label"],
        cost_s=row["cost"],
        long=bool(row["long"]),
        copy_of=None if row["copy_of"] is None else _to_id(row["copy_of"]),
    )
