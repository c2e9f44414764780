"""Staff without teams or wages, with ties."""

import random

SCHEMA = """
CREATE TABLE staff (id INTEGER PRIMARY KEY, team TEXT, wage INTEGER);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = [(number, rng.choice(["paint", "wood", "steel", None]), rng.choice([None, 0, 10, 10, 20, 1000])) for number in rng.sample(range(1, 99), 20)]
    return SCHEMA + insert("staff", [*found, (100, "sure", 1), (101, "sure", 2)])
