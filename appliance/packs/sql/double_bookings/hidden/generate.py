"""Bookings that touch, overlap and contain each other."""

import random

SCHEMA = """
CREATE TABLE bookings (id INTEGER PRIMARY KEY, room TEXT NOT NULL, starts INTEGER NOT NULL, ends INTEGER NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = []
    for number in rng.sample(range(1, 99), 18):
        starts = rng.randrange(0, 12)
        found.append((number, rng.choice(["red", "blue", "green"]), starts, starts + rng.randrange(1, 5)))
    return SCHEMA + insert("bookings", [*found, (100, "sure", 5, 9), (101, "sure", 8, 9)])
