"""Entries of three accounts with several on a day."""

import random

SCHEMA = """
CREATE TABLE entries (id INTEGER NOT NULL UNIQUE, account TEXT NOT NULL, day TEXT NOT NULL, cents INTEGER NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["a", "b", "c"]), f"2024-02-0{rng.randrange(1, 5)}", rng.choice([5, 5, -3, 100])) for number in rng.sample(range(1, 200), 22)]
    return SCHEMA + insert("entries", found)
