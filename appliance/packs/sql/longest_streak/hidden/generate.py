"""Visits over the end of a month, repeated on some days."""

import random

SCHEMA = """
CREATE TABLE visits (id INTEGER PRIMARY KEY, member TEXT NOT NULL, day TEXT NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = []
    for member in ("Ann", "Ben", "Cy", "Di"):
        for _ in range(rng.randrange(1, 14)):
            found.append((len(found) + 1, member, rng.choice(["2024-02-2", "2024-02-2", "2024-03-0"]) + str(rng.randrange(6, 10))))
    rng.shuffle(found)
    return SCHEMA + insert("visits", found)
