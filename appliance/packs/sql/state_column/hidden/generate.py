"""Orders that are paid or not."""

import random

SCHEMA = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, paid_on TEXT);
CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["Ann", "Ben"]), rng.choice([None, "", "2024-01-01"])) for number in rng.sample(range(1, 99), 12)]
    return SCHEMA + insert("orders", found) + insert("log", [(1, "start")])
