"""Random users with addresses that collide once they are tidied."""

import random

SCHEMA = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
CREATE TABLE posts (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, body TEXT);
CREATE TABLE audit (id INTEGER PRIMARY KEY, what TEXT);
"""


def script(rng: random.Random) -> str:
    lines = [SCHEMA]
    for number in rng.sample(range(1, 500), 20):
        address = f"{rng.choice(['a', 'B', 'c'])}{rng.randrange(2)}@{rng.choice(['x', 'X'])}.org"
        email = rng.choice([f"'{address}'", f"' {address}'", f"'{address}  '", "NULL", "''"])
        lines.append(f"INSERT INTO users VALUES ({number}, 'user {rng.randrange(9)}', {email});")
    lines.append(f"INSERT INTO users VALUES (900, 'sure', '{rng.randrange(10**6)}@sure.org');")
    for number in range(1, 15):
        lines.append(f"INSERT INTO posts VALUES ({number}, {rng.randrange(500)}, 'text {rng.randrange(3)}');")
        lines.append(f"INSERT INTO audit VALUES ({number}, 'what {rng.randrange(3)}');")
    return "\n".join(lines)
