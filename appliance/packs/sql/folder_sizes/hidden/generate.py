"""Forests of folders with equal files."""

import random

SCHEMA = """
CREATE TABLE folders (id INTEGER PRIMARY KEY, parent INTEGER, name TEXT NOT NULL);
CREATE TABLE files (id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, bytes INTEGER NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    numbers = rng.sample(range(1, 60), 12)
    folders = [(key, rng.choice([None, *numbers[:place]]) if place else None, rng.choice("abc")) for place, key in enumerate(numbers)]
    files = [(number, rng.choice(numbers), rng.choice([1, 10, 10, 100])) for number in range(1, 15)]
    return SCHEMA + insert("folders", folders) + insert("files", files)
