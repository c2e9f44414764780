"""Parcels at the edges of the bands."""

import random

SCHEMA = """
CREATE TABLE parcels (id INTEGER PRIMARY KEY, grams INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice([None, 1, 499, 500, 501, 1999, 2000, 2001, 2002, 9000])) for number in range(1, 30)]
    return SCHEMA + insert("parcels", found)
