"""Loans with few due dates, some returned."""

import random

SCHEMA = """
CREATE TABLE loans (id INTEGER NOT NULL UNIQUE, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    days = ["2024-04-30", "2024-05-01", "2024-05-02", "2023-11-12", "2024-04-03"]
    found = [(number, rng.choice(["Atlas", "Birds", "It's late"]), rng.choice(days), rng.choice([None, None, "2024-04-15"])) for number in rng.sample(range(1, 300), 25)]
    return SCHEMA + insert("loans", [*found, (500, "Sure", "2024-04-11", None)])
