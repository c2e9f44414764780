"""Visitors with nicknames that are missing, blank or padded."""

import random

SCHEMA = """
CREATE TABLE visitors (id INTEGER PRIMARY KEY, name TEXT NOT NULL, nickname TEXT);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    nicknames = [None, "", "  ", "Al", " Bo", "Cy ", " D E "]
    found = [(number, rng.choice(["Ann", " Ben ", "Cy"]) + str(rng.randrange(9)), rng.choice(nicknames)) for number in rng.sample(range(1, 300), 20)]
    return SCHEMA + insert("visitors", found)
