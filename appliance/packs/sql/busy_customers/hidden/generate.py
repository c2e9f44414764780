"""Orders of few customers, some of nobody."""

import random

SCHEMA = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, state TEXT NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["Ida", "Jon", "Kay", "Lou", "Mia", "Ned", None]), rng.choice(["done", "done", "open"])) for number in range(1, 40)]
    return SCHEMA + insert("orders", [*found, *[(number, "Sure", "done") for number in range(100, 103)]])
