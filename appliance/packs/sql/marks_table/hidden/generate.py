"""Marks in wanted and other subjects."""

import random

SCHEMA = """
CREATE TABLE marks (id INTEGER PRIMARY KEY, pupil TEXT NOT NULL, subject TEXT NOT NULL, mark INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["Ann", "Ben", "Cy", "Di", "Ed", "Fay"]), rng.choice(["art", "math", "sport", "music"]), rng.choice([None, 1, 2, 10, 0])) for number in range(1, 25)]
    return SCHEMA + insert("marks", [*found, (30, "Sure", "sport", 3)])
