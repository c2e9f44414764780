"""Trains between few stations."""

import random

SCHEMA = """
CREATE TABLE trains (number INTEGER PRIMARY KEY, departs TEXT NOT NULL, arrives TEXT NOT NULL, cancelled INTEGER NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    places = ["Aarhus", "Odense", "Vejle", "Nyborg"]
    found = [(number, rng.choice(places), rng.choice(places), rng.choice([0, 0, 1])) for number in rng.sample(range(1, 999), 18)]
    return SCHEMA + insert("trains", [*found, (1000, "Herning", "Vejle", 0), (1001, "Herning", "Vejle", 0), (1002, "Vejle", "Herning", 1)])
