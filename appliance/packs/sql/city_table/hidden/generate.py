"""People in few cities."""

import random

SCHEMA = """
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE pets (id INTEGER PRIMARY KEY, person_id INTEGER, name TEXT);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["Ann", "Ben"]), rng.choice([None, "Oslo", "oslo", "Bern", "Ulm", "Rome", "Kiel"])) for number in rng.sample(range(1, 99), 14)]
    return SCHEMA + insert("people", [*found, (100, "Sue", "Faro")]) + insert("pets", [(1, 100, "Rex"), (2, 5, None)])
