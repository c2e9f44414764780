"""Reports stored out of order, some without a value."""

import random

SCHEMA = """
CREATE TABLE reports (id INTEGER PRIMARY KEY, thermometer TEXT NOT NULL, minute INTEGER NOT NULL, tenths INTEGER, UNIQUE (thermometer, minute));
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    found = []
    for name in ("hall", "yard", "roof"):
        for minute in rng.sample(range(1, 120), 9):
            found.append((len(found) * 7 % 61 + 1, name, minute, rng.choice([None, 200, 220, 221, 240, 179, -5])))
    return SCHEMA + insert("reports", [*found, (90, "sure", 8, 10), (91, "sure", 11, 80)])
