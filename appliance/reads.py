"""Read-only views of `store.db`, for the terminal UI and the report: SELECT only, bounded, never a write.

While a writer has the file open it is read through the write-ahead log. When the writer is gone and this user
may not create the log's index, the file is opened immutable: then it is whole, and it is `frozen`. An immutable
view of a file with a log beside it would miss the newest facts, so that is refused.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from appliance import objects
from appliance.errors import IntegrityError, NotFoundError, StoreError
from appliance.ledger import body_hash

Row = dict[str, Any]


class Reads:
    """One read-only connection to a store; belongs to the thread that made it."""

    def __init__(self, path: Path) -> None:
        """Open `path`. NotFoundError when there is no file, StoreError when it is no store of ours."""
        if not path.is_file():
            raise NotFoundError(
                f"no store at {path}",
                remedy="start a run (appliance train recipes/starter.toml), set APPLIANCE_HOME, or name a file",
            )
        self.path = path
        self.frozen, self._db = _open(path)
        self._version = self._data_version()

    def close(self) -> None:
        self._db.close()

    def moved(self) -> bool:
        """Whether a writer committed since the last call (4 µs: made to be polled)."""
        before, self._version = self._version, self._data_version()
        return before != self._version

    @contextmanager
    def consistent(self) -> Iterator[None]:
        """All reads inside see one moment."""
        with _boundary(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._db.execute("COMMIT")

    # runs

    def run(self, run_id: str) -> Row:
        found = self._rows("SELECT * FROM runs WHERE id = ?", run_id)
        if not found:
            known = [row["id"] for row in self._rows("SELECT id FROM runs ORDER BY created DESC LIMIT 5")]
            names = ", ".join(known) or "none yet"
            raise NotFoundError(f"no run {run_id!r} in {self.path}", remedy=f"the newest runs are: {names}")
        return found[0] | {"recipe": parse(found[0]["recipe"])}

    def newest_run(self) -> str | None:
        found = self._rows("SELECT id FROM runs ORDER BY created DESC, rowid DESC LIMIT 1")
        return found[0]["id"] if found else None

    def runs(self) -> list[Row]:
        """All runs, newest first."""
        return self._rows("SELECT * FROM runs ORDER BY created DESC, rowid DESC")

    # what a run did

    def updates(self, run_id: str, limit: int = 100_000) -> list[Row]:
        """The newest `limit` updates, oldest first."""
        query = "SELECT * FROM updates WHERE run_id = ? ORDER BY step DESC LIMIT ?"
        return [
            row | {"metrics": parse(row["metrics"])} for row in reversed(self._rows(query, run_id, limit))
        ]

    def evaluations(self, run_id: str) -> list[Row]:
        """All evaluations in order of step, with `by_task`."""
        rows = self._rows("SELECT * FROM evaluations WHERE run_id = ? ORDER BY step", run_id)
        return [row | {"by_task": parse(row["by_task"])} for row in rows]

    def pass_rates(self, run_id: str) -> list[tuple[int, float | None]]:
        """Step and held-out pass rate of each evaluation."""
        rows = self._rows("SELECT step, pass_rate FROM evaluations WHERE run_id = ? ORDER BY step", run_id)
        return [(row["step"], number(row["pass_rate"])) for row in rows]

    def train_tasks(self, run_id: str) -> list[Row]:
        """Per training task: groups closed, all-fail groups, all-pass groups, mean of the group means."""
        return self._rows(
            "SELECT task_key, count(*) AS groups, sum(state = 'all_fail') AS all_fail,"
            " sum(state = 'all_pass') AS all_pass, avg(mean) AS mean FROM groups"
            " WHERE run_id = ? AND purpose = 'train' AND state <> 'open' GROUP BY task_key ORDER BY task_key",
            run_id,
        )

    def audits(self, run_id: str) -> list[Mapping[str, Any]]:
        """What each audited attempt of a run was found to do: kind of finding to how often."""
        rows = self._rows("SELECT audit FROM attempts WHERE run_id = ? AND audit IS NOT NULL", run_id)
        return [parse(row["audit"]) for row in rows]

    # what it does now

    def live(self, run_id: str) -> Row | None:
        found = self._rows("SELECT time, data FROM live WHERE run_id = ?", run_id)
        return found[0] | {"data": parse(found[0]["data"])} if found else None

    def events(self, run_id: str, limit: int, without: Sequence[str] = ()) -> list[Row]:
        """The newest `limit` events but those of the kinds `without`, newest first."""
        marks = ", ".join("?" * len(without))
        where = f"run_id = ? AND kind NOT IN ({marks}) ORDER BY seq DESC LIMIT ?"
        return self._events(where, run_id, *without, limit)

    def newest_events(self, limit: int) -> list[Row]:
        """The newest `limit` events of all runs, newest first."""
        return self._chain("1 ORDER BY seq DESC LIMIT ?", limit)

    def events_after(self, seq: int, limit: int) -> list[Row]:
        """The first `limit` events of all runs after number `seq`, oldest first."""
        return self._chain("seq > ? ORDER BY seq LIMIT ?", seq, limit)

    def last_event(self, run_id: str, kinds: Sequence[str]) -> Row | None:
        """The newest event of one of these kinds."""
        marks = ", ".join("?" * len(kinds))
        found = self._events(f"run_id = ? AND kind IN ({marks}) ORDER BY seq DESC LIMIT 1", run_id, *kinds)
        return found[0] if found else None

    def group_states(self, run_id: str, step: int, purpose: str) -> dict[str, int]:
        """How many groups of a step are in each state."""
        query = "SELECT state, count(*) AS n FROM groups WHERE run_id = ? AND step = ? AND purpose = ?"
        rows = self._rows(f"{query} GROUP BY state", run_id, step, purpose)
        return {row["state"]: row["n"] for row in rows}

    def newest_attempt(self, run_id: str, characters: int) -> Row | None:
        """The attempt recorded last, with the first `characters` of its text."""
        found = self._rows(
            "SELECT id, task_key, step, purpose, idx, stop_reason, sampled_tokens, created, status, reward,"
            " substr(text, 1, ?) AS text FROM attempts WHERE run_id = ? ORDER BY created DESC, rowid DESC LIMIT 1",
            characters,
            run_id,
        )
        return found[0] if found else None

    # reviews

    def reviews(self, state: str | None = None) -> list[Row]:
        """The items of the review queue, with their sources as a list; none in a store from before there was one."""
        if not self._has("reviews"):
            return []
        query = "SELECT * FROM reviews WHERE ? IS NULL OR state = ? ORDER BY id"
        return [row | {"sources": json.loads(row["sources"])} for row in self._rows(query, state, state)]

    def opinions(self) -> list[Row]:
        """What reviewers said, by item and time."""
        if not self._has("opinions"):
            return []
        return self._rows("SELECT * FROM opinions ORDER BY item, time")

    def members(self, group_id: str, limit: int) -> list[Row]:
        """The first `limit` attempts of a group in order: id, idx, status, reward, verdict, its hash, and files."""
        query = (
            "SELECT id, idx, status, reward, verdict, text, json_extract(trace, '$.artefacts') AS files,"
            " json_extract(trace, '$.object') AS object FROM attempts WHERE group_id = ? ORDER BY idx LIMIT ?"
        )
        return [self._member(row) for row in self._rows(query, group_id, limit)]

    def _has(self, table: str) -> bool:
        return bool(self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))

    def _member(self, row: Row) -> Row:
        text, blob, files = row.pop("text"), row.pop("object"), parse(row["files"])
        if blob:
            try:
                files = json.loads(objects.get(self.path.parent / "objects", blob))["artefacts"]
            except (NotFoundError, IntegrityError):
                files = {"(the files, joined)": text or ""}
        verdict = parse(row["verdict"])
        return row | {"files": files, "verdict": verdict, "verdict_hash": body_hash(verdict)}

    # the shared verbs

    def _events(self, where: str, *values: Any) -> list[Row]:
        rows = self._rows(f"SELECT seq, time, kind, data FROM events WHERE {where}", *values)
        return [row | {"data": parse(row["data"])} for row in rows]

    def _chain(self, where: str, *values: Any) -> list[Row]:
        rows = self._rows(f"SELECT seq, time, run_id, kind, actor, data FROM events WHERE {where}", *values)
        return [row | {"data": parse(row["data"])} for row in rows]

    def _rows(self, query: str, *values: Any) -> list[Row]:
        with _boundary(self.path):
            return [dict(row) for row in self._db.execute(query, values)]

    def _data_version(self) -> int:
        return int(self._rows("PRAGMA data_version")[0]["data_version"])


def parse(text: str | None) -> Mapping[str, Any]:
    """Read a JSON column; what is missing or damaged reads as empty, since a view must open what it can."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def number(value: object) -> float | None:
    """Return a finite number as float, anything else as None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _open(path: Path) -> tuple[bool, sqlite3.Connection]:
    """Return whether the view is frozen, and the connection."""
    with _boundary(path):
        try:
            return False, _connect(path, "mode=ro")
        except sqlite3.OperationalError:
            log = path.with_name(f"{path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise
            return True, _connect(path, "immutable=1")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?{how}", uri=True, timeout=2, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("SELECT id FROM runs LIMIT 1").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def _boundary(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        remedy = "check that this is a store.db and that you may read it and the files beside it"
        raise StoreError(f"{path}: {error}", remedy=remedy) from error
