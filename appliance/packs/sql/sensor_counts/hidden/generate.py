"""Sensors with equal codes, lost readings, strays."""

import random

SCHEMA = """
CREATE TABLE sensors (id INTEGER PRIMARY KEY, code TEXT NOT NULL);
CREATE TABLE readings (id INTEGER PRIMARY KEY, sensor_id INTEGER NOT NULL, value INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    sensors = [(number, rng.choice(["roof", "yard", "hall"])) for number in rng.sample(range(1, 60), 9)]
    known = [number for number, _ in sensors[:6]]
    found = [(number, rng.choice([*known, 99]), rng.choice([None, 0, 5, -3])) for number in range(1, 40)]
    return SCHEMA + insert("sensors", sensors) + insert("readings", found)
