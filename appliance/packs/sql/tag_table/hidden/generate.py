"""Lists of words with blanks, repeats and holes."""

import random

SCHEMA = """
CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT NOT NULL, tags TEXT);
CREATE TABLE readers (id INTEGER PRIMARY KEY, name TEXT);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = []
    for number in rng.sample(range(1, 99), 10):
        words = [rng.choice(["red", " red", "Big ", "big", "", " ", "old one", "x"]) for _ in range(rng.randrange(0, 6))]
        found.append((number, rng.choice("AB"), ",".join(words) if rng.random() < 0.9 else None))
    return SCHEMA + insert("articles", [*found, (100, "Sure", "sure")]) + insert("readers", [(1, "Ann"), (2, None)])
