"""Loans of a few readers: returned or not, with equal dates."""

import random

SCHEMA = """
CREATE TABLE loans (id INTEGER PRIMARY KEY, reader TEXT NOT NULL, book TEXT NOT NULL, due TEXT NOT NULL, returned TEXT);
"""


def script(rng: random.Random) -> str:
    rows = []
    for number in rng.sample(range(1, 500), rng.randint(20, 30)):
        due = f"2024-0{rng.randint(1, 3)}-0{rng.randint(1, 9)}"
        returned = rng.choice(["NULL", "NULL", f"'{due}'"])
        reader = rng.choice(["ann", "bo", "cy", "dee", "Eve", "fay", "gus"])
        rows.append(f"({number}, '{reader}', 'book {number % 7}', '{due}', {returned})")
    sure = "(501, 'sure', 'x', '2024-01-05', NULL), (502, 'sure', 'y', '2024-01-04', NULL)"
    return f"{SCHEMA}INSERT INTO loans VALUES {', '.join(rows)}, {sure};"
