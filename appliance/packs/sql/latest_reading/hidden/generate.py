"""Readings with equal times and without values."""

import random

SCHEMA = """
CREATE TABLE readings (id INTEGER PRIMARY KEY, meter TEXT NOT NULL, sent TEXT NOT NULL, value INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["gas", "power", "heat"]), f"2024-05-0{rng.randrange(1, 4)} 1{rng.randrange(3)}:00", rng.choice([None, 1, 2, 3])) for number in rng.sample(range(1, 99), 20)]
    return SCHEMA + insert("readings", found)
