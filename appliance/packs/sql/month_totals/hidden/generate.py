"""Payments around the ends of months, some without a sum."""

import random

SCHEMA = """
CREATE TABLE payments (id INTEGER PRIMARY KEY, day TEXT NOT NULL, cents INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    days = ["2023-12-31", "2024-01-01", "2024-01-31", "2024-02-29", "2023-01-15", "2024-11-02"]
    found = [(number, rng.choice(days), rng.choice([None, None, 100, 100, 250, -40])) for number in range(1, 25)]
    return SCHEMA + insert("payments", [*found, (99, "2022-07-04", None)])
