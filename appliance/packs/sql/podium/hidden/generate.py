"""Races with many ties."""

import random

SCHEMA = """
CREATE TABLE results (race TEXT NOT NULL, runner TEXT NOT NULL, seconds INTEGER, PRIMARY KEY (race, runner));
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(race, runner, rng.choice([None, 60, 61, 62, 63, 64])) for race in ("hill", "lake", "road") for runner in rng.sample("ABCDEFGHIJ", rng.randrange(1, 9))]
    return SCHEMA + insert("results", [*found, ("sure", "Z", 5)])
