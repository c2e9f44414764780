"""Few books and members, with repeated loans."""

import random

SCHEMA = """
CREATE TABLE books (id INTEGER PRIMARY KEY, shelf TEXT NOT NULL);
CREATE TABLE loans (id INTEGER PRIMARY KEY, member TEXT NOT NULL, book_id INTEGER NOT NULL);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    books = [(number, rng.choice(["art", "sea", "war"])) for number in range(1, 7)]
    loans = [(number, rng.choice(["Ann", "Ben", "Cy"]), rng.randrange(1, 8)) for number in range(1, 22)]
    return SCHEMA + insert("books", [*books, (20, "sure")]) + insert("loans", [*loans, (30, "Sue", 20)])
