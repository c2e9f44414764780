"""Random shops: few names for many customers, missing sums, orders of nobody."""

import random

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, cents INTEGER, note TEXT);
"""


def script(rng: random.Random) -> str:
    lines = [SCHEMA]
    people = rng.sample(range(1, 1000), 12)
    for number in people:
        name = rng.choice(["Ada", "Bo", "Cy", "Di", "Éva"]) + rng.choice(["", " X", f" {rng.randrange(100)}"])
        lines.append(f"INSERT INTO customers VALUES ({number}, '{name}', 'city {rng.randrange(5)}');")
    for number in range(1, 41):
        cents = rng.choice(["NULL", rng.randrange(1, 10_000), rng.randrange(1, 10_000)])
        who = rng.choice([*people[:9], 5000])
        lines.append(f"INSERT INTO orders VALUES ({number}, {who}, {cents}, NULL);")
    return "\n".join(lines)
