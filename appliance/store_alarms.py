"""The part of `store.db` that monitoring needs: what each update came to, and the alarms that were raised."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any


class AlarmTables(ABC):
    """What `Store` can do with series and alarms; the connection is the store's."""

    _db: Any

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _rows(self, query: str, values: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]: ...

    def judged_rows(self, run_id: str, step: int) -> list[dict[str, Any]]:
        """What monitoring looks at of each judged attempt of an update: its columns and a few numbers of its verdict.

        `hidden` is None where hidden cases were not asked; `outcomes` are those of its evidence.
        """
        query = (
            "SELECT id, group_id, task_key, purpose, status, reward, sampled_tokens,"
            " json_extract(verdict, '$.task_hash') AS task_hash,"
            " json_extract(verdict, '$.verifier_hash') AS verifier_hash,"
            " json_extract(verdict, '$.signals.public_share.value') AS visible,"
            " json_extract(verdict, '$.signals.hidden_share.value') AS hidden,"
            " json_extract(verdict, '$.cost.judge_s') AS judge_s,"
            " json_extract(verdict, '$.evidence') AS evidence"
            " FROM attempts WHERE run_id = ? AND step = ? AND status IS NOT NULL"
        )
        rows = self._rows(query, [run_id, step])
        return [
            row | {"outcomes": [item.get("outcome") for item in json.loads(row.pop("evidence") or "[]")]}
            for row in rows
        ]

    def event_data(self, run_id: str, kind: str, since: float) -> list[dict[str, Any]]:
        """The data of the events of a kind in a run from a time on (Unix seconds), the oldest first."""
        query = "SELECT data FROM events WHERE run_id = ? AND kind = ? AND time >= ? ORDER BY seq"
        return [json.loads(row["data"]) for row in self._rows(query, [run_id, kind, since])]

    def flaky_cases(self, contents: Mapping[str, tuple[str, str]], bound: float) -> list[dict[str, Any]]:
        """Of each task (key to task hash and verifier hash): cases on record, those flaky, and the worst rate."""
        query = (
            "SELECT count(*) AS cases, total(flips > 0 AND mean > ?) AS flaky, max(mean) AS worst FROM flakes"
            " WHERE task_hash = ? AND verifier_hash = ?"
        )
        found = []
        for key, content in contents.items():
            row = self._rows(query, [bound, *content])[0]
            if row["cases"]:
                found.append({**row, "flaky": int(row["flaky"]), "task_key": key})
        return found

    def review_items(self, run_id: str, attempts: Sequence[str]) -> list[dict[str, Any]]:
        """attempt_id, task_key and sources of the review items that show one of the attempts."""
        rows = self._rows("SELECT attempt_id, task_key, sources FROM reviews WHERE run_id = ?", [run_id])
        wanted = set(attempts)
        return [row | {"sources": json.loads(row["sources"])} for row in rows if row["attempt_id"] in wanted]

    # series

    def set_step(self, run_id: str, step: int, data: Mapping[str, Any]) -> None:
        """Keep what an update came to, in place of an earlier record of it."""
        with self._writing():
            self._db["series"].insert(
                {"run_id": run_id, "step": step, "data": json.dumps(data)},
                pk=("run_id", "step"),
                replace=True,
            )

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        """What every update of a run came to, in order."""
        rows = self._rows("SELECT data FROM series WHERE run_id = ? ORDER BY step", [run_id])
        return [json.loads(row["data"]) for row in rows]

    # alarms

    def add_alarm(self, row: Mapping[str, Any]) -> int:
        """Keep a new alarm; `snapshot` and `cause` as JSON. Returns its id."""
        with self._writing():
            return int(self._db["alarms"].insert(_packed(row)).last_pk)

    def set_alarm(self, identity: int, **columns: Any) -> None:
        """Change columns of an alarm."""
        with self._writing():
            self._db["alarms"].update(identity, _packed(columns))

    def alarms(self, run_id: str | None = None) -> list[dict[str, Any]]:
        """Alarms of a run, or all, the oldest first."""
        where, values = ("run_id = ?", [run_id]) if run_id else ("1", [])
        return [
            _unpacked(row) for row in self._rows(f"SELECT * FROM alarms WHERE {where} ORDER BY id", values)
        ]

    def alarm(self, identity: int) -> dict[str, Any] | None:
        """One alarm by its id; None where there is none."""
        rows = self._rows("SELECT * FROM alarms WHERE id = ?", [identity])
        return _unpacked(rows[0]) if rows else None


_JSON = ("snapshot", "cause")


def _packed(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: json.dumps(value) if name in _JSON else value for name, value in row.items()}


def _unpacked(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: json.loads(value) if name in _JSON else value for name, value in row.items()}
