"""Departures over one month, at the edges of the hour."""

import random

SCHEMA = """
CREATE TABLE departures (id INTEGER PRIMARY KEY, line TEXT NOT NULL, leaves TEXT NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = []
    for number in range(1, 50):
        leaves = f"2024-07-{rng.randrange(1, 29):02} {rng.choice(['08:59', '09:00', '09:01', '00:00', '23:30', '12:00'])}"
        found.append((number, rng.choice(["north", "south", "east", "west"]), leaves))
    return SCHEMA + insert("departures", [*found, (99, "sure", "2024-07-06 09:00")])
