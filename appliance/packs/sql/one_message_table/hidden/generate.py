"""Mails and chats with equal ids."""

import random

SCHEMA = """
CREATE TABLE mails (id INTEGER PRIMARY KEY, sender TEXT, body TEXT);
CREATE TABLE chats (id INTEGER PRIMARY KEY, said TEXT, sender TEXT);
CREATE TABLE senders (name TEXT PRIMARY KEY);
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    mails = [(number, rng.choice(["Ann", None]), rng.choice(["x", "y", None])) for number in rng.sample(range(1, 30), 8)]
    chats = [(number, rng.choice(["x", "z", None]), rng.choice(["Ann", "Ben"])) for number in rng.sample(range(1, 30), 8)]
    return SCHEMA + insert("mails", mails) + insert("chats", chats) + insert("senders", [("Ann",)])
