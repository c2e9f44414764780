"""Trees with ties and without heights."""

import random

SCHEMA = """
CREATE TABLE trees (id INTEGER NOT NULL UNIQUE, species TEXT NOT NULL, height INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["oak", "elm", "fir"]), rng.choice([None, 900, 90, 1000, 1500])) for number in rng.sample(range(1, 300), rng.choice([2, 3, 4, 20]))]
    return SCHEMA + insert("trees", [*found, (999, "ash", 900)])
