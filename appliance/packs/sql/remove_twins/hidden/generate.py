"""Contacts with the same addresses, some without one."""

import random

SCHEMA = """
CREATE TABLE contacts (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
CREATE TABLE notes (id INTEGER PRIMARY KEY, contact_id INTEGER, body TEXT);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["Ann", "Ben", None]), rng.choice([None, "a@x", "A@x", "b@x", "B@X", "c@x"])) for number in rng.sample(range(1, 200), 18)]
    notes = [(number, rng.choice(found)[0], rng.choice(["a", "b"])) for number in range(1, 9)]
    return SCHEMA + insert("contacts", [*found, (300, "Sue", "s@x"), (301, "Sue", "S@x")]) + insert("notes", notes)
