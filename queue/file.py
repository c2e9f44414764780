"""The queue file: one SQLite database that holds our jobs table and Huey's tables, opened once per process.

Every thread of the process shares one connection behind one lock, so that a job and its ring are written in one
transaction. Each failure of SQLite or of the disk leaves here as a StoreError with a remedy. The file is private
to its owner and must lie on a local file system. A file of a newer version is refused, never changed.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from appliance.errors import StoreError

VERSION = 2
BUSY_S = 10
"""How long a statement waits for another process's transaction."""
PAGE_BYTES = 1024
"""A job changes about ten pages, each of which is written whole: with small ones a submission takes half the time. A
file that exists keeps what it has."""
WAL_PAGES = 32_000
"""Pages that may be in the log before they are copied to the file."""
OLDEST_SQLITE = (3, 37, 0)
"""Older ones know no STRICT tables."""

LOG_LOSERS = (
    "INSERT INTO job_attempts (seq, attempt, token, owner, started, finished, outcome, error_kind, error, trace)"
    " SELECT seq, attempts, token, owner, started, NEW.finished, 'cancelled', 'cancelled',"
    " 'another copy of the job ended first', '' FROM jobs WHERE {} AND state = 'leased'"
)
SCHEMA = {
    1: (
        """CREATE TABLE jobs (
          seq INTEGER PRIMARY KEY AUTOINCREMENT,
          class TEXT NOT NULL,
          grp TEXT NOT NULL,
          key TEXT UNIQUE,
          state TEXT NOT NULL DEFAULT 'queued'
            CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled', 'expired')),
          priority INTEGER NOT NULL,
          payload TEXT NOT NULL,
          attempts INTEGER NOT NULL DEFAULT 0,
          max_attempts INTEGER NOT NULL,
          not_before REAL NOT NULL DEFAULT 0,
          deadline REAL,
          owner TEXT,
          token INTEGER NOT NULL DEFAULT 0,
          lease_until REAL,
          submitted REAL NOT NULL,
          started REAL,
          finished REAL,
          result TEXT,
          error_kind TEXT NOT NULL DEFAULT '',
          error TEXT NOT NULL DEFAULT ''
        ) STRICT""",
        "CREATE INDEX jobs_queued ON jobs (class, priority DESC, seq) WHERE state = 'queued'",
        "CREATE INDEX jobs_leased ON jobs (owner) WHERE state = 'leased'",
        "CREATE INDEX jobs_deadline ON jobs (deadline) WHERE state = 'queued' AND deadline IS NOT NULL",
        "CREATE INDEX jobs_open_group ON jobs (grp) WHERE state IN ('queued', 'leased')",
        "CREATE INDEX jobs_state ON jobs (class, state)",
        """CREATE TABLE job_attempts (
          seq INTEGER NOT NULL,
          attempt INTEGER NOT NULL,
          token INTEGER NOT NULL,
          owner TEXT NOT NULL,
          started REAL NOT NULL,
          finished REAL NOT NULL,
          outcome TEXT NOT NULL,
          error_kind TEXT NOT NULL,
          error TEXT NOT NULL,
          trace TEXT NOT NULL,
          PRIMARY KEY (seq, token)
        ) STRICT, WITHOUT ROWID""",
    ),
    2: (
        "ALTER TABLE jobs ADD COLUMN label TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE jobs ADD COLUMN cost REAL NOT NULL DEFAULT 1",
        "ALTER TABLE jobs ADD COLUMN batch INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE jobs ADD COLUMN long INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE jobs ADD COLUMN copy_of INTEGER",
        "UPDATE jobs SET batch = seq",
        "DROP INDEX jobs_queued",
        "CREATE INDEX jobs_queued ON jobs (class, priority DESC, batch, cost DESC, seq) WHERE state = 'queued'",
        "CREATE INDEX jobs_short ON jobs (class, priority DESC, batch, cost DESC, seq)"
        " WHERE state = 'queued' AND cost <= 1",
        "CREATE INDEX jobs_copies ON jobs (copy_of) WHERE copy_of IS NOT NULL",
        "CREATE INDEX jobs_oldest ON jobs (class, seq) WHERE state = 'queued'",
        "DROP INDEX jobs_state",
        """CREATE TABLE classes (
          class TEXT PRIMARY KEY,
          queued INTEGER NOT NULL DEFAULT 0,
          claims INTEGER NOT NULL DEFAULT 0,
          share REAL NOT NULL DEFAULT 0,
          tokens REAL NOT NULL DEFAULT 1
        ) STRICT, WITHOUT ROWID""",
        "INSERT INTO classes (class) VALUES (''), ('interactive'), ('judge'), ('attempt'), ('evaluate'),"
        " ('admit'), ('housekeeping')",
        "UPDATE classes SET queued = (SELECT count(*) FROM jobs"
        " WHERE jobs.class = classes.class AND state = 'queued')",
        "CREATE TRIGGER jobs_come AFTER INSERT ON jobs WHEN NEW.state = 'queued' BEGIN"
        " UPDATE classes SET queued = queued + 1 WHERE class = NEW.class; END",
        "CREATE TRIGGER jobs_leave AFTER UPDATE OF state ON jobs"
        " WHEN OLD.state = 'queued' AND NEW.state <> 'queued' BEGIN"
        " UPDATE classes SET queued = queued - 1 WHERE class = NEW.class; END",
        "CREATE TRIGGER jobs_return AFTER UPDATE OF state ON jobs"
        " WHEN OLD.state <> 'queued' AND NEW.state = 'queued' BEGIN"
        " UPDATE classes SET queued = queued + 1 WHERE class = NEW.class; END",
        "ALTER TABLE job_attempts ADD COLUMN wait REAL NOT NULL DEFAULT 0",
        "ALTER TABLE job_attempts ADD COLUMN start REAL NOT NULL DEFAULT 0",
        "ALTER TABLE job_attempts ADD COLUMN run REAL NOT NULL DEFAULT 0",
        "ALTER TABLE job_attempts ADD COLUMN teardown REAL NOT NULL DEFAULT 0",
        # Of a job and its hedges the first that is done decides: the job takes its result, and the others end.
        "CREATE TRIGGER jobs_copy_won AFTER UPDATE OF state ON jobs"
        " WHEN NEW.state = 'done' AND NEW.copy_of IS NOT NULL BEGIN"
        f" {LOG_LOSERS.format('seq = NEW.copy_of')};"
        " UPDATE jobs SET state = 'done', finished = NEW.finished, result = NEW.result, error_kind = '', error = ''"
        " WHERE seq = NEW.copy_of AND state IN ('queued', 'leased'); END",
        "CREATE TRIGGER jobs_over AFTER UPDATE OF state ON jobs"
        " WHEN NEW.state NOT IN ('queued', 'leased') AND NEW.copy_of IS NULL BEGIN"
        f" {LOG_LOSERS.format('copy_of = NEW.seq')};"
        " UPDATE jobs SET state = 'cancelled', finished = NEW.finished, error_kind = 'cancelled',"
        " error = 'another copy of the job ended first'"
        " WHERE copy_of = NEW.seq AND state IN ('queued', 'leased'); END",
        """CREATE TABLE durations (
          class TEXT NOT NULL,
          label TEXT NOT NULL,
          seconds TEXT NOT NULL,
          PRIMARY KEY (class, label)
        ) STRICT, WITHOUT ROWID""",
    ),
}
"""The statements that lead to each version from the one before.

In `classes`: `queued` jobs (kept by triggers, so that no path forgets it), `claims` so far, `share` (the virtual time
at which the class is next in turn; of '', that of the whole queue), `tokens` (how many hedges it may start).
"""


class QueueFile:
    """The open file. `write` and `read` nest within a thread; the outermost `write` is the transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise StoreError(
                f"SQLite {sqlite3.sqlite_version} is too old",
                remedy=f"use a Python with SQLite {'.'.join(map(str, OLDEST_SQLITE))} or newer",
            )
        with self._boundary():
            _make_private(path)
            self._connection = _connect(path)
        try:
            with self.write() as connection:
                self._migrate(connection)
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; whoever still uses it gets a StoreError."""
        with self._lock, self._boundary():
            if self._connection:
                self._connection.close()
            self._connection = None

    @property
    def closed(self) -> bool:
        return self._connection is None

    def write(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction that is kept when the block ends and undone when it raises."""
        return _Transaction(self)

    def read(self) -> AbstractContextManager[sqlite3.Connection]:
        return _Use(self)

    def version(self) -> int:
        """A number that changes when another process (not this one) has written."""
        with self.read() as connection:
            return int(connection.execute("PRAGMA data_version").fetchone()[0])

    def check(self) -> None:
        """Raises StoreError when pages of the file are damaged."""
        with self.read() as connection:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise StoreError(f"{self.path}: {verdict}", remedy=_REMEDIES["malformed"])

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"{self.path}: the queue is closed", remedy="open it again")
        return self._connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found > VERSION:
            raise StoreError(
                f"{self.path}: written by a newer version (schema {found}, this one knows {VERSION})",
                remedy="update the appliance, or set APPLIANCE_HOME to another folder",
            )
        for version in range(found + 1, VERSION + 1):
            for statement in SCHEMA[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version}")

    @contextmanager
    def _boundary(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._fail(error)

    def _fail(self, error: sqlite3.Error | OSError) -> NoReturn:
        raise StoreError(f"{self.path}: {error}", remedy=_remedy(str(error))) from error


class _Use:
    """The connection, for one thread at a time; what SQLite and the disk say against it leaves as a StoreError."""

    __slots__ = ("_file",)

    def __init__(self, file: QueueFile) -> None:
        self._file = file

    def __enter__(self) -> sqlite3.Connection:
        self._file._lock.acquire()
        try:
            return self._begin(self._file._open_connection())
        except BaseException as error:
            self._file._lock.release()
            self._tell(error)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end(error)
        except (sqlite3.Error, OSError) as late:
            self._tell(late)
        finally:
            self._file._lock.release()
        self._tell(error)

    def _begin(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        return connection

    def _end(self, error: BaseException | None) -> None:
        pass

    def _tell(self, error: BaseException | None) -> None:
        if isinstance(error, sqlite3.Error | OSError):
            self._file._fail(error)


class _Transaction(_Use):
    """The outermost one of a thread begins and ends; one within it takes part."""

    __slots__ = ("_ours",)

    def _begin(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        self._ours: sqlite3.Connection | None = None if connection.in_transaction else connection
        if self._ours:
            connection.execute("BEGIN IMMEDIATE")
        return connection

    def _end(self, error: BaseException | None) -> None:
        if self._ours is None:
            return
        try:
            if error is None:
                self._ours.execute("COMMIT")
        finally:
            # A full disk may have rolled back already.
            if self._ours.in_transaction:
                self._ours.execute("ROLLBACK")


def _make_private(path: Path) -> None:
    """Create the file for its owner alone; SQLite gives its companions (-wal, -shm) the same mode.

    A file that exists is not opened here: closing it would drop the locks SQLite holds in this process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        _enter_wal(connection)
        # In WAL mode NORMAL survives every crash of ours; a power cut can undo the last moments, never damage.
        connection.execute("PRAGMA synchronous = NORMAL")
        # A checkpoint flushes the disk: at the default it would do so for every seventy jobs.
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Two processes that meet here on a new file block each other without SQLite waiting: try again."""
    give_up = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
        time.sleep(0.01)


_REMEDIES = {
    "full": "free disk space; nothing is lost, queued jobs go on then",
    "No space": "free disk space; nothing is lost, queued jobs go on then",
    "locked": "another process holds the queue; end it, or try again",
    "readonly": "make the file and its folder writable, or set APPLIANCE_HOME to another folder",
    "unable to open": "make the file and its folder writable, or set APPLIANCE_HOME to another folder",
    "not a database": "move the file and its -wal and -shm companions away; results are in the store, "
    "`appliance train --resume RUN` queues again what is missing",
}
_REMEDIES["malformed"] = _REMEDIES["not a database"]
_OTHERWISE = "check the file, its permissions and its disk, or set APPLIANCE_HOME to another folder"


def _remedy(message: str) -> str:
    return next((remedy for part, remedy in _REMEDIES.items() if part in message), _OTHERWISE)
