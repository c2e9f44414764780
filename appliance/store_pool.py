"""The part of `store.db` that the pool needs: evidence of admission, and the changes of tasks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any


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

    def last_change(self, task_key: str | None = None) -> dict[str, Any] | None:
        """The newest change of a task, or of all."""
        where, values = ("task_key = ?", [task_key]) if task_key else ("1", [])
        rows = self._rows(f"SELECT * FROM task_changes WHERE {where} ORDER BY seq DESC LIMIT 1", values)
        return rows[0] | {"body": json.loads(rows[0]["body"])} if rows else None

    def changes(self, task_key: str | None = None) -> list[dict[str, Any]]:
        """Changes of a task, or all, the oldest first."""
        where, values = ("task_key = ?", [task_key]) if task_key else ("1", [])
        rows = self._rows(f"SELECT * FROM task_changes WHERE {where} ORDER BY seq", values)
        return [row | {"body": json.loads(row["body"])} for row in rows]

    def add_change(self, row: Mapping[str, Any]) -> None:
        """Append a link of the chain; the caller made it of the last one, in one `together`."""
        with self._writing():
            self._db["task_changes"].insert({**row, "body": json.dumps(row["body"], sort_keys=True)})
