"""The part of `store.db` that the pool needs: evidence of admission, and the changes of tasks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from appliance.errors import IntegrityError


class PoolTables(ABC):
    """What `Store` can do with admissions and changes of tasks; the connection is the store's."""

    _db: Any

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _rows(self, query: str, values: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]: ...

    def add_admission(self, row: Mapping[str, Any]) -> int:
        """Keep the evidence of one battery: every column of the table but the id, `record` as JSON. Returns the id."""
        with self._writing():
            table = self._db["admissions"].insert({**row, "record": json.dumps(row["record"])})
            return int(table.last_pk)

    def last_admission(self, task_key: str) -> dict[str, Any] | None:
        """The newest evidence of a task, whatever its content was then; None before the first."""
        query = "SELECT * FROM admissions WHERE task_key = ? ORDER BY id DESC LIMIT 1"
        rows = self._rows(query, [task_key])
        return rows[0] | {"record": json.loads(rows[0]["record"])} if rows else None

    def base_passes(self, task_key: str, task_hash: str) -> tuple[int, int]:
        """(passes, attempts with a reward) of base models, whose policy version names no run, at this content."""
        query = (
            "SELECT count(CASE status WHEN 'pass' THEN 1 END) AS passes, count(reward) AS tries FROM attempts"
            " WHERE task_key = ? AND instr(policy_version, '+') = 0"
            " AND json_extract(verdict, '$.task_hash') = ?"
        )
        row = self._rows(query, [task_key, task_hash])[0]
        return row["passes"], row["tries"]

    def admission(self, identity: int) -> dict[str, Any] | None:
        """One piece of evidence by its id; None where there is none."""
        rows = self._rows("SELECT * FROM admissions WHERE id = ?", [identity])
        return rows[0] | {"record": json.loads(rows[0]["record"])} if rows else None

    # changes of tasks: the fields of `appliance.pool.record.Change`

    def add_change(self, change: Mapping[str, Any]) -> None:
        """Append a link of the chain; the caller made it of the last one, in one `together`."""
        columns = {name: change[name] for name in _COLUMNS}
        body = {name: value for name, value in change.items() if name not in _COLUMNS}
        with self._writing():
            self._db["task_changes"].insert({**columns, "body": json.dumps(body, sort_keys=True)})

    def changes(self, task_key: str | None = None) -> list[dict[str, Any]]:
        """Changes of a task, or all, the oldest first. IntegrityError for one that cannot be read."""
        where, values = ("task_key = ?", [task_key]) if task_key else ("1", [])
        return [
            _change(row)
            for row in self._rows(f"SELECT * FROM task_changes WHERE {where} ORDER BY seq", values)
        ]

    def last_change(self) -> dict[str, Any] | None:
        """The newest change of all."""
        rows = self._rows("SELECT * FROM task_changes ORDER BY seq DESC LIMIT 1", [])
        return _change(rows[0]) if rows else None

    def last_states(self) -> dict[str, tuple[str, str]]:
        """Of every task with a change: the content and the state of the newest one."""
        query = (
            "SELECT task_key, task_hash, json_extract(body, '$.after') AS state, max(seq) FROM task_changes"
            " GROUP BY task_key"
        )
        return {row["task_key"]: (row["task_hash"], row["state"]) for row in self._rows(query, [])}

    def splits_on_record(self, task_key: str, cluster: str) -> dict[str, str]:
        """Split to the newest task that was on record in it: under this key, or of this cluster of its pack."""
        query = (
            "SELECT json_extract(body, '$.split') AS split, task_key, max(seq) FROM task_changes"
            " WHERE task_key = :key OR (json_extract(body, '$.cluster') = :cluster"
            " AND substr(task_key, 1, length(:pack)) = :pack) GROUP BY split"
        )
        pack = task_key.partition("/")[0] + "/"
        rows = self._rows(query, {"key": task_key, "cluster": cluster, "pack": pack})
        return {row["split"]: row["task_key"] for row in rows}


_COLUMNS = ("seq", "time", "task_key", "task_hash", "previous", "hash")


def _change(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        body = json.loads(row["body"])
        return {**body, **{name: row[name] for name in _COLUMNS}}
    except (ValueError, TypeError):
        raise IntegrityError(
            f"task change {row['seq']} cannot be read", remedy="compare with a backup"
        ) from None
