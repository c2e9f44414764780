"""`store.db`: the facts to compute with. This module, `store_alarms`, `store_reviews`, `store_pool` and
`schema` are the only ones that speak SQL to it for writing.

One `Store` is one connection and the only writer; its methods may be called from any thread. Readers in other
processes (the terminal UI) open the file read-only.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance import events, ledger, objects
from appliance.errors import IntegrityError, NotFoundError, StoreError
from appliance.nouns import Attempt, Event, Verdict
from appliance.store_alarms import AlarmTables
from appliance.store_exports import ExportReads
from appliance.store_pool import PoolTables
from appliance.store_reviews import ReviewTables

INLINE_TRACE_BYTES = 32 * 1024
"""A longer trace goes to `objects/` and the row keeps its hash."""


def _body(text: str | None) -> str:
    """The hash of a stored verdict, of nothing where it cannot be read."""
    try:
        return ledger.body_hash(json.loads(text or ""))
    except ValueError:
        return ""


@contextmanager
def _boundary(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        remedy = "free disk space" if "full" in str(error) else "check the file, its permissions and its disk"
        raise StoreError(f"{path}: {error}", remedy=remedy) from error


class Store(AlarmTables, ExportReads, PoolTables, ReviewTables):
    """The store of one installation, open for writing."""

    def __init__(self, path: Path, blobs: Path) -> None:
        import sqlite_utils

        from appliance.schema import migrations, unknown

        self.path, self._blobs, self._lock = path, blobs, threading.RLock()
        with _boundary(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=10, check_same_thread=False)
            self._db: Any = sqlite_utils.Database(connection)
            self._refuse_newer(unknown(self._db))
            self._db.enable_wal()
            self._db.execute("PRAGMA synchronous = NORMAL")
            migrations.apply(self._db)

    def _refuse_newer(self, unknown: Sequence[str]) -> None:
        if unknown:
            self._db.close()
            raise StoreError(
                f"{self.path}: written by a newer version ({unknown[0]})",
                remedy="update the appliance, or set APPLIANCE_HOME to another folder",
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # runs

    def add_run(
        self,
        run_id: str,
        *,
        created: float,
        seed: int,
        recipe: Mapping[str, Any],
        folder: Path,
        state: str = "running",
        place: int | None = None,
    ) -> None:
        """Record a run; `place` is its place in the daemon's line, None when it is in none."""
        row = {"id": run_id, "created": created, "state": state, "seed": seed, "base": "", "place": place}
        self._insert("runs", row | {"recipe": json.dumps(recipe), "folder": str(folder)})

    def set_run(self, run_id: str, **columns: Any) -> None:
        """Change columns of a run.

        `state`, `finished` (Unix seconds), `base`, `place`, `supervisor` (`train` or `daemon`), `starts` (since
        the last new update) and `started_at` (updates done when it was started last).
        """
        with self._writing():
            self._db["runs"].update(run_id, columns)

    def run(self, run_id: str) -> dict[str, Any]:
        rows = self._rows("SELECT * FROM runs WHERE id = ?", [run_id])
        if not rows:
            known = ", ".join(row["id"] for row in self.runs()[:5]) or "none yet"
            raise NotFoundError(f"no run {run_id!r} in {self.path}", remedy=f"the newest runs are: {known}")
        return rows[0] | {"recipe": json.loads(rows[0]["recipe"])}

    def runs(self) -> list[dict[str, Any]]:
        """All runs, newest first."""
        return self._rows("SELECT * FROM runs ORDER BY created DESC", [])

    # updates and evaluations

    def add_update(
        self, run_id: str, step: int, started: float, seconds: float, metrics: Mapping[str, Any]
    ) -> None:
        row = {"run_id": run_id, "step": step, "started": started, "seconds": seconds}
        self._insert("updates", row | {"metrics": json.dumps(metrics)})

    def updates(self, run_id: str) -> list[dict[str, Any]]:
        rows = self._rows("SELECT * FROM updates WHERE run_id = ? ORDER BY step", [run_id])
        return [row | {"metrics": json.loads(row["metrics"])} for row in rows]

    def add_evaluation(self, run_id: str, step: int, evaluation: Mapping[str, Any]) -> None:
        """Record an evaluation: created, pass_rate, by_task {key: {n, c, tier}}, policy_version, seconds."""
        by_task = json.dumps(evaluation["by_task"])
        self._insert("evaluations", {"run_id": run_id, "step": step, **evaluation, "by_task": by_task})

    def evaluations(self, run_id: str) -> list[dict[str, Any]]:
        rows = self._rows("SELECT * FROM evaluations WHERE run_id = ? ORDER BY step", [run_id])
        return [row | {"by_task": json.loads(row["by_task"])} for row in rows]

    def set_live(self, run_id: str, time: float, data: Mapping[str, Any]) -> None:
        """Say what a run is doing right now, for the screens."""
        self._insert("live", {"run_id": run_id, "time": time, "data": json.dumps(data)})

    # groups and attempts

    def add_groups(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Open groups: id, run_id, step, task_key, purpose, policy_version."""
        with self._writing():
            opened = [dict(row) | {"state": "open", "mean": None} for row in rows]
            self._db["groups"].insert_all(opened, replace=True)

    def close_group(self, group_id: str, state: str, mean: float | None) -> None:
        with self._writing():
            self._db["groups"].update(group_id, {"state": state, "mean": mean})

    def groups(self, run_id: str, step: int) -> list[dict[str, Any]]:
        return self._rows("SELECT * FROM groups WHERE run_id = ? AND step = ? ORDER BY id", [run_id, step])

    def train_scores(
        self, run_id: str, before: int, since: int = 0
    ) -> list[tuple[str, int, int, int, float]]:
        """Of each train group of the updates after `since` and before `before`: task key, step, passes, attempts with
        a reward, and the mean number of sampled tokens."""
        query = (
            "SELECT task_key, step, count(CASE status WHEN 'pass' THEN 1 END), count(reward), avg(sampled_tokens)"
            " FROM attempts WHERE run_id = ? AND purpose = 'train' AND step < ? AND step > ?"
            " GROUP BY group_id ORDER BY step, group_id"
        )
        return [tuple(row.values()) for row in self._rows(query, [run_id, before, since])]

    def add_attempt(self, attempt: Attempt, text: str, created: float) -> None:
        """Record an attempt; `text` is what the model wrote, untrusted."""
        trace = json.dumps(attempt.to_json())
        if len(trace) > INLINE_TRACE_BYTES:
            trace = json.dumps({"object": objects.put(self._blobs, trace.encode())})
        row = {
            "id": attempt.id,
            "run_id": attempt.run_id,
            "group_id": attempt.group_id,
            "step": attempt.step,
            "purpose": attempt.purpose,
            "task_key": attempt.task_key,
            "idx": attempt.index,
            "policy_version": attempt.policy_version,
            "stop_reason": attempt.stop_reason,
            "sampled_tokens": sum(len(part.ids) for part in attempt.segments if part.origin == "sampled"),
            "created": created,
            "text": text,
            "trace": trace,
        }
        self._insert("attempts", row)

    def set_verdict(self, attempt_id: str, verdict: Verdict, time: float = 0.0) -> None:
        """Record the verdict that counts, reached at `time` (Unix seconds), and enter it in the ledger."""
        columns = {
            "status": verdict.status,
            "reward": verdict.reward,
            "verdict": json.dumps(verdict.to_json()),
            "artefact_hash": verdict.artefact_hash,
            "weighed": None,
            "audit": None if verdict.audit is None else json.dumps(verdict.audit["found"]),
        }
        with self._writing():
            self._db["attempts"].update(attempt_id, columns)
            self._enter(time, "judged", attempt_id, verdict)

    def add_rejudging(self, attempt_id: str, verdict: Verdict, time: float) -> None:
        """Enter a later verdict on the same attempt in the ledger; the one that counts stays."""
        with self._writing():
            self._enter(time, "rejudged", attempt_id, verdict)

    def _enter(self, time: float, kind: ledger.Kind, attempt_id: str, verdict: Verdict) -> None:
        last = next(self._entries("1 ORDER BY seq DESC LIMIT 1"), None)
        row = asdict(ledger.entry(last, time, kind, attempt_id, verdict))
        self._db["verdicts"].insert(row)

    def entries(self, attempt_id: str | None = None) -> list[ledger.Entry]:
        """The ledger, oldest first: whole, or the entries of one attempt."""
        if attempt_id is None:
            return list(self._entries("1 ORDER BY seq"))
        return list(self._entries("attempt_id = ? ORDER BY seq", [attempt_id]))

    def _entries(self, where: str, values: Sequence[Any] = ()) -> Iterator[ledger.Entry]:
        for row in self._rows(f"SELECT * FROM verdicts WHERE {where}", values):
            yield ledger.Entry(**row)

    def misfits(self) -> list[str]:
        """Attempts whose verdict is not the one that their newest entry of the ledger was made of."""
        query = (
            "SELECT attempts.id, verdict, body, max(seq) FROM attempts JOIN verdicts ON attempt_id = attempts.id"
            " WHERE kind = 'judged' GROUP BY attempts.id"
        )
        rows = self._rows(query, [])
        return [row["id"] for row in rows if _body(row["verdict"]) != row["body"]]

    def attempt(self, attempt_id: str) -> Attempt:
        rows = self._rows("SELECT trace FROM attempts WHERE id = ?", [attempt_id])
        if not rows:
            raise NotFoundError(
                f"no attempt {attempt_id!r} in {self.path}", remedy="list the attempts of its run"
            )
        trace = json.loads(rows[0]["trace"])
        if "object" in trace:
            trace = json.loads(objects.get(self._blobs, trace["object"]))
        return Attempt.from_json(trace)

    def verdict(self, attempt_id: str) -> Verdict | None:
        """The verdict of an attempt, None before it is judged."""
        rows = self._rows("SELECT verdict FROM attempts WHERE id = ? AND verdict IS NOT NULL", [attempt_id])
        return Verdict.from_json(json.loads(rows[0]["verdict"])) if rows else None

    def attempts(self, run_id: str, *, limit: int, **equal: Any) -> tuple[int, list[dict[str, Any]]]:
        """Count the attempts of a run whose columns equal the given ones (None: any); return the newest."""
        wanted = {"run_id": run_id} | {name: value for name, value in equal.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in wanted)
        values = list(wanted.values())
        total: int = self._rows(f"SELECT count(*) AS n FROM attempts WHERE {where}", values)[0]["n"]
        columns = (
            "id, task_key, step, purpose, idx, policy_version, stop_reason, sampled_tokens, status, reward"
        )
        query = f"SELECT {columns} FROM attempts WHERE {where} ORDER BY created DESC, rowid DESC LIMIT ?"
        return total, self._rows(query, [*values, limit])

    def outcomes(self, run_id: str, step: int, purpose: str) -> dict[str, dict[str, Any]]:
        """Attempt id to its columns without the trace, for the attempts of one step."""
        columns = "id, group_id, task_key, idx, policy_version, stop_reason, sampled_tokens, status, reward"
        query = f"SELECT {columns} FROM attempts WHERE run_id = ? AND step = ? AND purpose = ?"
        return {row["id"]: row for row in self._rows(query, [run_id, step, purpose])}

    # events

    def append_event(self, time: float, run_id: str, kind: str, actor: int, data: Mapping[str, Any]) -> Event:
        with self._writing():
            # Read, not remembered: what a full disk or an interrupt undid must not be linked to.
            last = next(self._events("1 ORDER BY seq DESC LIMIT 1"), None)
            event = events.link(last, time, run_id, kind, actor, data)
            self._db["events"].insert(asdict(event) | {"data": json.dumps(data, sort_keys=True)})
        return event

    def events(self, run_id: str | None = None) -> list[Event]:
        """The chain, oldest first: whole, or the links of one run."""
        if run_id is None:
            return list(self._events("1 ORDER BY seq"))
        return list(self._events("run_id = ? ORDER BY seq", [run_id]))

    # the shared verbs

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is read and written inside is one moment: nobody else writes in between, all of it or nothing."""
        with self._writing():
            yield

    def _events(self, where: str, values: Sequence[Any] = ()) -> Iterator[Event]:
        for row in self._rows(f"SELECT * FROM events WHERE {where}", values):
            try:
                yield Event(**(row | {"data": json.loads(row["data"])}))
            except (ValueError, TypeError):
                raise IntegrityError(
                    f"{self.path}: event {row['seq']} cannot be read", remedy="compare with a backup"
                ) from None

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        with self._writing():
            self._db[table].insert(dict(row), replace=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """As a writer from the start: what reads first and then writes fails if another process came in between."""
        with self._lock, _boundary(self.path):
            connection = self._db.conn
            outermost = not connection.in_transaction
            if outermost:
                connection.execute("BEGIN IMMEDIATE")
            try:
                with self._db.atomic():
                    yield
            except BaseException:
                if outermost:
                    connection.rollback()
                raise
            if outermost:
                connection.commit()

    def _rows(self, query: str, values: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]:
        named = dict(values) if isinstance(values, Mapping) else list(values)
        with self._lock, _boundary(self.path):
            return list(self._db.query(query, named))
