"""Articles and a list that shares some of them."""

import random

SCHEMA = """
CREATE TABLE articles (code TEXT PRIMARY KEY, cents INTEGER, stock INTEGER NOT NULL DEFAULT 0);
CREATE TABLE incoming (code TEXT PRIMARY KEY, cents INTEGER);
CREATE TABLE history (code TEXT, cents INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    codes = [f"{letter}{digit}" for letter in "Ab" for digit in range(8)]
    articles = [(code, rng.choice([None, 100, 250]), rng.randrange(9)) for code in rng.sample(codes, 9)]
    incoming = [(code, rng.choice([None, 1, 250])) for code in rng.sample(codes, 9)]
    return SCHEMA + insert("articles", articles) + insert("incoming", [*incoming, ("sure", 1)]) + insert("history", [("A1", 1)])
