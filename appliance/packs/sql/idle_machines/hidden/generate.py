"""Machines and bookings, some of no machine."""

import random

SCHEMA = """
CREATE TABLE machines (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE bookings (id INTEGER PRIMARY KEY, machine_id INTEGER, day TEXT NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    machines = [(number, rng.choice(["lathe", "press", "saw"])) for number in rng.sample(range(1, 60), 10)]
    days = ["2024-02-29", "2024-03-01", "2024-03-17", "2024-03-31", "2024-04-01", "2023-03-05"]
    found = [(number, rng.choice([None, *[key for key, _ in machines[:8]]]), rng.choice(days)) for number in range(1, 13)]
    return SCHEMA + insert("machines", machines) + insert("bookings", found)
