"""Runs SQL on a data base built for one question, inside the jail as /job/worker.py.

The same program serves the author's jail (which holds the gold as /job/solution.sql, and the generator) and the
candidate's. It knows no expected row and decides nothing. SQLite is what is attacked here: every connection that
runs foreign SQL has an authoriser, limits on what a statement may be, a count of its steps and a cap on its heap;
the jail is around all of it.

Refused everywhere: ATTACH, extensions, virtual tables, temporary objects, PRAGMA, random() and the clock. A query may
moreover write nothing and, unless the task allows it, not read the catalogue.
"""

from __future__ import annotations

import hashlib
import os
import random
import runpy
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from appliance.kinds.function_worker import Reply, read_request, send
from appliance.values import Tree, ValueFault, dumps, encode

SOLUTION = "/job/solution.sql"
GENERATOR = "/job/generate.py"
FILE = "/work/data.db"
TEXT_CAP = 300
TICK = 100_000
"""Steps of SQLite's machine between two counts."""

_S = sqlite3
_ALWAYS = {_S.SQLITE_SELECT, _S.SQLITE_READ, _S.SQLITE_FUNCTION, _S.SQLITE_RECURSIVE}
_WRITES = {_S.SQLITE_INSERT, _S.SQLITE_UPDATE, _S.SQLITE_DELETE, _S.SQLITE_TRANSACTION, _S.SQLITE_SAVEPOINT}
_SCHEMA = {
    *(_S.SQLITE_CREATE_TABLE, _S.SQLITE_CREATE_INDEX, _S.SQLITE_CREATE_VIEW, _S.SQLITE_CREATE_TRIGGER),
    *(_S.SQLITE_DROP_TABLE, _S.SQLITE_DROP_INDEX, _S.SQLITE_DROP_VIEW, _S.SQLITE_DROP_TRIGGER),
    *(_S.SQLITE_ALTER_TABLE, _S.SQLITE_REINDEX, _S.SQLITE_ANALYZE),
}
ALLOWED = {"query": _ALWAYS, "dml": _ALWAYS | _WRITES, "migration": _ALWAYS | _WRITES | _SCHEMA}
"""The authoriser's actions, by what the SQL is for."""
_IMPURE = {
    *("random", "randomblob", "load_extension", "fts3_tokenizer"),
    *("current_time", "current_date", "current_timestamp"),
}
_CLOCKED = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
"""Functions that are pure unless they are asked for the present."""
_CATALOGUE = ("sqlite_", "pragma_", "dbstat")
_LIMITS = {
    _S.SQLITE_LIMIT_COLUMN: 200,
    _S.SQLITE_LIMIT_EXPR_DEPTH: 200,
    _S.SQLITE_LIMIT_COMPOUND_SELECT: 200,
    _S.SQLITE_LIMIT_VDBE_OP: 100_000,
    _S.SQLITE_LIMIT_FUNCTION_ARG: 50,
    _S.SQLITE_LIMIT_ATTACHED: 0,
    _S.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    _S.SQLITE_LIMIT_VARIABLE_NUMBER: 50,
    _S.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
    _S.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_AFFINITIES = (
    (("INT",), "INTEGER"),
    (("CHAR", "CLOB", "TEXT"), "TEXT"),
    (("BLOB",), "BLOB"),
    (("REAL", "FLOA", "DOUB"), "REAL"),
)
"""In the order in which SQLite tries them."""


class Failed(Exception):
    """The SQL did not get to an answer; the word stands in the evidence."""

    def __init__(self, word: str, text: str = "") -> None:
        super().__init__(word)
        self.word, self.text = word, text[:TEXT_CAP]


@dataclass(slots=True)
class Guard:
    """What one connection has used, and what it was refused."""

    mode: str
    caps: Mapping[str, int]
    catalogue: bool
    steps: int = 0
    refused: list[str] = field(default_factory=list)

    def authorise(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """The authoriser: an allow list, because new versions of SQLite bring new actions."""
        good = action in ALLOWED[self.mode]
        if action == _S.SQLITE_FUNCTION:
            good = (second or "").lower() not in _IMPURE
        elif action == _S.SQLITE_PRAGMA:
            # ALTER TABLE asks it by itself when a new column has a constraint.
            good = self.mode == "migration" and first == "quick_check"
        elif action == _S.SQLITE_READ and self.mode == "query" and not self.catalogue:
            good = not (first or "").lower().startswith(_CATALOGUE)
        if not good:
            self.refused.append(f"action {action} on {first or second}")
        return _S.SQLITE_OK if good else _S.SQLITE_DENY

    def tick(self) -> int:
        self.steps += TICK
        return int(self.steps > self.caps["steps"])

    def clocked(self, name: str, pure: sqlite3.Connection) -> Callable[..., Any]:
        """A date function that is refused the present and otherwise is SQLite's own."""
        least = 2 if name == "strftime" else 1

        def answer(*args: Any) -> Any:
            if len(args) < least or any(map(_is_now, args)):
                self.refused.append(f"the clock by way of {name}()")
                raise ValueError(name)
            return pure.execute(f"SELECT {name}({','.join('?' * len(args))})", args).fetchone()[0]

        return answer


def _is_now(argument: object) -> bool:
    """SQLite reads blobs as text, and text to its first NUL."""
    text = argument.decode("latin-1") if isinstance(argument, bytes) else argument
    return isinstance(text, str) and text.split("\0")[0].lower() in ("now", "subsec", "subsecond")


@contextmanager
def guarded(connection: sqlite3.Connection, guard: Guard) -> Iterator[None]:
    """Run foreign SQL on `connection`; whatever stops it is a Failed with one word."""
    connection.setlimit(_S.SQLITE_LIMIT_LENGTH, guard.caps["bytes"])
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.set_authorizer(guard.authorise)
    connection.set_progress_handler(guard.tick, TICK)
    try:
        yield
    except MemoryError:
        raise Failed("memory") from None
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as fault:
        raise Failed(_word(fault, guard), guard.refused[-1] if guard.refused else str(fault)) from None
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)


def _word(fault: Exception, guard: Guard) -> str:
    if guard.refused:
        return "forbidden"
    if guard.steps > guard.caps["steps"]:
        return "steps"
    if isinstance(fault, sqlite3.IntegrityError):
        return "constraint"
    return "several_statements" if "one statement at a time" in str(fault) else "sql_error"


@contextmanager
def opened(where: str, guard: Guard, *, reverse: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection in autocommit mode whose settings no later SQL can change; foreign keys are off, as by default."""
    with closing(sqlite3.connect(":memory:")) as pure, closing(sqlite3.connect(where)) as connection:
        connection.isolation_level = None
        heap = guard.caps["heap_mb"] << 20
        for pragma in (f"hard_heap_limit={heap}", "temp_store=MEMORY", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute(f"PRAGMA reverse_unordered_selects={int(reverse)}").fetchall()
        for name in _CLOCKED:
            connection.create_function(name, -1, guard.clocked(name, pure), deterministic=True)
        # Their first use declares them, which the authoriser sees as a write; later ones it does not see.
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
        yield connection


def folded(name: str) -> str:
    """A name as SQLite tells names apart: by all but the case of ASCII letters, which is what `bytes.lower` knows.

    `str.lower` makes a `k` of the Kelvin sign, so that a table could hide another.
    """
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def build(connection: sqlite3.Connection, base: Mapping[str, Any]) -> None:
    """Fill an empty data base: tables, rows in the order given, then all that watches them."""
    connection.execute("BEGIN")
    for statement in base["tables"]:
        connection.execute(statement)
    for name, (columns, rows) in base["rows"].items():
        marks = ",".join("?" * len(columns))
        names = ",".join(map(quoted, columns))
        decoded = [[_value(cell) for cell in row] for row in rows]
        connection.executemany(f"INSERT INTO main.{quoted(name)} ({names}) VALUES ({marks})", decoded)
    for statement in base["others"]:
        connection.execute(statement)
    connection.execute("COMMIT")


def _value(cell: Tree) -> object:
    if type(cell) is not dict:
        return cell
    ((tag, body),) = cell.items()
    return bytes.fromhex(body) if tag == "$bytes" else float(body)


def cells(row: Sequence[object]) -> list[Tree]:
    """One row as trees. SQL does not tell -0.0 from 0.0, so neither does an answer."""
    return [encode(0.0 if cell == 0 and type(cell) is float else cell) for cell in row]


def fetched(cursor: sqlite3.Cursor, caps: Mapping[str, int]) -> list[list[Tree]]:
    """All rows, as long as they are within the caps."""
    rows: list[list[Tree]] = []
    size = 0
    for row in cursor:
        rows.append(cells(row))
        size += len(dumps(rows[-1]))
        if len(rows) > caps["rows"] or size > caps["bytes"]:
            raise Failed("too_large", f"more than {caps['rows']} rows or {caps['bytes']} bytes")
    return rows


class Made(NamedTuple):
    """One thing that SQL created."""

    kind: str
    name: str
    table: str
    """Its own name, of a table or view."""
    sql: str


def objects(connection: sqlite3.Connection) -> list[Made]:
    """Everything that was created, in order of creation."""
    asked = "SELECT type, name, tbl_name, sql FROM main.sqlite_master ORDER BY rowid"
    found = [Made(*row) for row in connection.execute(asked)]
    return [one for one in found if one.sql and not one.name.startswith("sqlite_")]


def prepare(request: Mapping[str, Any]) -> Reply:
    """Run an author's script and read back what it made: how it was stored is then ours to choose."""
    script = request.get("script")
    if script is None:
        script = runpy.run_path(GENERATOR)["script"](random.Random(request["seed"]))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        made = objects(connection)
        rows: dict[str, Any] = {}
        for name in (one.name for one in made if one.kind == "table"):
            found = connection.execute(f"PRAGMA main.table_xinfo({quoted(name)})").fetchall()
            # Generated columns cannot be inserted; those of virtual tables are hidden.
            columns = [column[1] for column in found if column[6] == 0]
            names = ",".join(map(quoted, columns))
            cursor = connection.execute(f"SELECT {names} FROM main.{quoted(name)}")
            rows[name] = [columns, fetched(cursor, request["caps"])]
    tables = [one.sql for one in made if one.kind == "table"]
    others = [one.sql for one in made if one.kind != "table"]
    if any(sql.upper().startswith("CREATE VIRTUAL") for sql in tables):
        raise Failed(
            "virtual_table", "a data instance with a virtual table cannot be stored in another order"
        )
    return {"base": {"tables": tables, "rows": rows, "others": others}}


def query(request: Mapping[str, Any], sql: str) -> Reply:
    """The rows of one statement on a fresh data base."""
    guard = Guard("query", request["caps"], request["catalogue"])
    with opened(":memory:", guard, reverse=request["reverse"]) as connection:
        build(connection, request["base"])
        connection.execute("PRAGMA query_only=ON").fetchall()
        with guarded(connection, guard):
            cursor = connection.execute(sql)
            rows = fetched(cursor, guard.caps)
            names = [column[0] for column in cursor.description or ()]
    if not names:
        raise Failed("no_query", "the statement returns no rows")
    return {"names": names, "rows": rows}


def change(request: Mapping[str, Any], sql: str) -> Reply:
    """The state that a script leaves, as a connection finds it that knows nothing of the script's own."""
    guard = Guard(request["mode"], request["caps"], catalogue=True)
    if os.path.exists(FILE):  # noqa: PTH110 - pathlib costs more to import than the rest
        os.unlink(FILE)  # noqa: PTH108
    with opened(FILE, guard, reverse=request["reverse"]) as connection:
        build(connection, request["base"])
        connection.execute(f"PRAGMA foreign_keys={int(request['foreign_keys'])}").fetchall()
        with guarded(connection, guard):
            connection.executescript(sql)
    # What was not committed is gone now.
    return {"state": state(request), "probes": [probed(request, probe) for probe in request["probes"]]}


def state(request: Mapping[str, Any]) -> Tree:
    """Every table and view: columns by name, what they hold by storage class, what watches it, rows."""
    guard = Guard("query", request["caps"], catalogue=False)
    with opened(FILE, guard) as connection:
        made = objects(connection)
        shown = [one for one in made if one.kind in ("table", "view")]
        # SQL does not tell names apart by the case of ASCII letters; of others it does.
        return {folded(one.name): _described(connection, one, made, guard) for one in shown}


def _described(connection: sqlite3.Connection, one: Made, made: Sequence[Made], guard: Guard) -> Tree:
    columns = connection.execute(f"PRAGMA main.table_xinfo({quoted(one.name)})").fetchall()
    columns.sort(key=_by_name)
    names = ",".join(quoted(column[1]) for column in columns)
    with guarded(connection, guard):
        rows = fetched(connection.execute(f"SELECT {names} FROM main.{quoted(one.name)}"), guard.caps)
    return {
        "kind": one.kind,
        "columns": [[folded(column[1]), affinity(column[2]), column[3], column[5]] for column in columns],
        "watchers": sorted(
            [other.kind, other.name] for other in made if other.table == one.name != other.name
        ),
        "rows": rows,
    }


def _by_name(column: Sequence[Any]) -> str:
    return folded(str(column[1]))


def affinity(declared: str) -> str:
    """The affinity of a declared type (sqlite.org/datatype3.html, 3.1): names of types beyond it mean nothing."""
    upper = declared.upper() or "BLOB"
    return next((name for parts, name in _AFFINITIES if any(part in upper for part in parts)), "NUMERIC")


def probed(request: Mapping[str, Any], statements: Sequence[str]) -> Tree:
    """What comes of further statements on the state, all of it undone: the rows of the last, or the kind of error."""
    guard = Guard("dml", request["caps"], catalogue=True)
    with opened(FILE, guard) as connection:
        connection.execute("PRAGMA foreign_keys=ON").fetchall()
        connection.execute("BEGIN")
        try:
            with guarded(connection, guard):
                for statement in statements[:-1]:
                    connection.execute(statement).fetchall()
                told: Reply = {"rows": fetched(connection.execute(statements[-1]), guard.caps)}
        except Failed as failed:
            told = {"failed": failed.word}
        # What the statements set off elsewhere, such as a trigger that empties another table.
        return {**told, "aside": aside(connection, request)}


def aside(connection: sqlite3.Connection, request: Mapping[str, Any]) -> Tree:
    """The rows of every table that a change may not touch, each table as one hash."""
    found: dict[str, str] = {}
    guard = Guard("query", request["caps"], catalogue=False)
    for one in objects(connection):
        if one.kind == "table" and folded(one.name) not in request["targets"]:
            columns = connection.execute(f"PRAGMA main.table_xinfo({quoted(one.name)})").fetchall()
            names = ",".join(quoted(column[1]) for column in sorted(columns, key=_by_name))
            with guarded(connection, guard):
                cursor = connection.execute(f"SELECT {names} FROM main.{quoted(one.name)}")
                rows = fetched(cursor, guard.caps)
            body = b"\n".join(sorted(map(dumps, rows)))
            found[folded(one.name)] = hashlib.sha256(body).hexdigest()
    return found


def answer(request: Mapping[str, Any]) -> Reply:
    """One question; a Failed is an answer too."""
    try:
        if request["op"] == "prepare":
            return prepare(request)
        with open(SOLUTION, encoding="utf-8") as file:  # noqa: PTH123
            sql = file.read()
        return query(request, sql) if request["mode"] == "query" else change(request, sql)
    except Failed as failed:
        return {"failed": failed.word, "text": failed.text}
    except (sqlite3.Error, ValueFault) as fault:
        return {"failed": "sql_error", "text": f"{type(fault).__name__}: {fault}"[:TEXT_CAP]}


def main() -> None:
    source, sink = (int(number) for number in os.environ.pop("APPLIANCE_CHANNEL").split(","))
    while request := read_request(source):
        ending = request["op"] == "end"
        reply = {"end": True} if ending else answer(request)
        send(sink, {"case": request["case"], **reply})
        if ending:
            return


if __name__ == "__main__":
    main()
