"""Invoices with gaps and repeated numbers."""

import random

SCHEMA = """
CREATE TABLE invoices (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(place, rng.choice([1, 2, 3, 5, 6, 9, 10, 14, 15, 17, 30]) + 100) for place in range(1, 15)]
    return SCHEMA + insert("invoices", [*found, (50, 160)])
