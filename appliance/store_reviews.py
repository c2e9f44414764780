"""The part of `store.db` that people's reviews and the audits of verifiers need: queries and changes by name."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from appliance.errors import NotFoundError


class ReviewTables(ABC):
    """What `Store` can do with reviews and integrity; the connection is the store's."""

    _db: Any

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _rows(self, query: str, values: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]: ...

    @abstractmethod
    def _insert(self, table: str, row: Mapping[str, Any]) -> None: ...

    # reviews

    def unweighed(self, limit: int) -> list[dict[str, Any]]:
        """Judged attempts, the oldest first, that the sources of the review queue have not seen; with run's seed."""
        columns = "a.id, a.run_id, a.group_id, a.step, a.purpose, a.task_key, a.idx, a.status, a.reward"
        query = (
            f"SELECT {columns}, a.verdict, a.audit, r.seed FROM attempts a LEFT JOIN runs r ON r.id = a.run_id"
            " WHERE a.weighed IS NULL AND a.verdict IS NOT NULL ORDER BY a.rowid LIMIT ?"
        )
        return self._rows(query, [limit])

    def task_history(self, task_key: str, limit: int) -> dict[str, Any]:
        """Of the weighed attempts at a task with a reward: tries, passes, newest rewards, CPU times of passes."""
        where = "FROM attempts WHERE task_key = ? AND weighed = 1 AND reward IS NOT NULL"
        tally = f"SELECT count(*) AS tries, count(CASE status WHEN 'pass' THEN 1 END) AS passes {where}"
        newest = "ORDER BY rowid DESC LIMIT ?"
        rewards = self._rows(f"SELECT reward {where} {newest}", [task_key, limit])
        cpu = f"SELECT json_extract(verdict, '$.cost.cpu_s') AS cpu_s {where} AND status = 'pass' {newest}"
        times = [row["cpu_s"] for row in self._rows(cpu, [task_key, limit])]
        return self._rows(tally, [task_key])[0] | {
            "rewards": [row["reward"] for row in rewards],
            "cpu_s": [time for time in times if time is not None],
        }

    def copies(self, group_id: str, task_key: str, artefact_hash: str) -> tuple[int, list[str]]:
        """How many attempts of a group earned a reward with these files, and at which other tasks they did."""
        where = "FROM attempts WHERE artefact_hash = ? AND reward > 0"
        ours = self._rows(f"SELECT count(*) AS n {where} AND group_id = ?", [artefact_hash, group_id])
        theirs = f"SELECT DISTINCT task_key {where} AND task_key <> ? ORDER BY task_key LIMIT 4"
        return ours[0]["n"], [row["task_key"] for row in self._rows(theirs, [artefact_hash, task_key])]

    def weigh(self, attempts: Sequence[str], items: Sequence[Mapping[str, Any]]) -> None:
        """Mark attempts as weighed and add what of them goes to review; an attempt that is there already stays."""
        with self._writing():
            marks = [(attempt_id,) for attempt_id in attempts]
            self._db.conn.executemany("UPDATE attempts SET weighed = 1 WHERE id = ?", marks)
            rows = [dict(item) | {"sources": json.dumps(item["sources"])} for item in items]
            self._db["reviews"].insert_all(rows, ignore=True)

    def reviews(self, state: str | None = None) -> list[dict[str, Any]]:
        """The items of the review queue."""
        where, values = ("1", []) if state is None else ("state = ?", [state])
        return [_item(row) for row in self._rows(f"SELECT * FROM reviews WHERE {where} ORDER BY id", values)]

    def review(self, number: int) -> dict[str, Any]:
        rows = self._rows("SELECT * FROM reviews WHERE id = ?", [number])
        if not rows:
            raise NotFoundError(f"no review item {number}", remedy="appliance review next shows one")
        return _item(rows[0])

    def set_review(self, number: int, **columns: Any) -> None:
        """Change `state` or `sources` of an item."""
        if "sources" in columns:
            columns["sources"] = json.dumps(columns["sources"])
        with self._writing():
            self._db["reviews"].update(number, columns)

    def opinions(self, number: int | None = None) -> list[dict[str, Any]]:
        """What reviewers said, of one item or of all."""
        where, values = ("1", []) if number is None else ("item = ?", [number])
        return self._rows(f"SELECT * FROM opinions WHERE {where} ORDER BY item, time", values)

    def add_opinion(self, row: Mapping[str, Any]) -> None:
        """Record an opinion: item, uid, stage, word, note, time. A later final one replaces the earlier."""
        self._insert("opinions", row)

    # integrity of verifiers

    def add_integrity(self, row: Mapping[str, Any]) -> None:
        """Record an audit of a verifier: task_key, task_hash, verifier_hash, created, actor, record."""
        self._insert("integrity", dict(row) | {"record": json.dumps(row["record"])})

    def last_integrity(self, task_key: str) -> dict[str, Any] | None:
        """The newest audit of a task's verifier."""
        rows = self._rows("SELECT * FROM integrity WHERE task_key = ? ORDER BY id DESC LIMIT 1", [task_key])
        return rows[0] | {"record": json.loads(rows[0]["record"])} if rows else None

    def flakes(self, task_hash: str, verifier_hash: str) -> list[dict[str, Any]]:
        """The counted flips of a task's cases: layer, case_number, flips, clean, mean."""
        query = "SELECT * FROM flakes WHERE task_hash = ? AND verifier_hash = ? ORDER BY layer, case_number"
        return self._rows(query, [task_hash, verifier_hash])

    def set_flakes(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Record tallies: task_hash, verifier_hash, layer, case_number, flips, clean, mean."""
        with self._writing():
            self._db["flakes"].insert_all([dict(row) for row in rows], replace=True)

    def passed_texts(self, task_key: str, limit: int) -> list[dict[str, Any]]:
        """The shortest different texts that passed at a task, each with one attempt and how often it came."""
        query = (
            "SELECT text, min(id) AS id, count(*) AS n FROM attempts WHERE task_key = ? AND status = 'pass'"
            " GROUP BY text ORDER BY length(text), text LIMIT ?"
        )
        return self._rows(query, [task_key, limit])

    def rejudged(self, task_key: str) -> dict[str, Any]:
        """How often attempts at a task were judged again alike (`times`), and how often that ended otherwise."""
        same = " AND ".join(
            f"j.{name} = v.{name}"
            for name in ("attempt_id", "seed", "task_hash", "verifier_hash", "artefact_hash")
        )
        query = (
            "SELECT count(DISTINCT v.seq) AS times,"
            " count(DISTINCT CASE WHEN v.status <> j.status OR v.reward IS NOT j.reward THEN v.seq END) AS differed"
            f" FROM attempts a JOIN verdicts v ON v.attempt_id = a.id JOIN verdicts j ON {same}"
            " WHERE a.task_key = ? AND v.kind = 'rejudged' AND j.kind = 'judged'"
            " AND v.reward IS NOT NULL AND j.reward IS NOT NULL"
        )
        return self._rows(query, [task_key])[0]

    def strays(self, task_key: str, limit: int) -> list[dict[str, Any]]:
        """The newest attempts at a task that handed in, or were seen to change, a file they should not."""
        query = (
            "SELECT attempts.id, json_extract(e.value, '$.text') AS file FROM attempts,"
            " json_each(verdict, '$.evidence') e WHERE task_key = :key AND status = 'tamper'"
            " AND json_extract(e.value, '$.outcome') = 'forbidden_file'"
            " UNION ALL SELECT id, 'changed under audit' FROM attempts"
            " WHERE task_key = :key AND json_extract(audit, '$.changed') > 0 ORDER BY id DESC LIMIT :limit"
        )
        return self._rows(query, {"key": task_key, "limit": limit})


def _item(row: Mapping[str, Any]) -> dict[str, Any]:
    return dict(row) | {"sources": json.loads(row["sources"])}
