"""People and orders, some of nobody."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} join_orders")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


people = [(key, chance.choice(["Ann Lind", "Ben", "C  D", "Ann", "\\n", "%s"])) for key in chance.sample(["7", "07", "3", "30", "100", "1", "2"], chance.randrange(1, 6))]
known = [key for key, _ in people]
orders = [(chance.choice([*known, *known, "9", "70"] if number % 2 else known), chance.choice([100, 100, -20, 0, 5, 1000000])) for _ in range(chance.randrange(1, 14))]
if number == 1:
    people = []
if number == 2:
    orders = []
if number == 3:
    people += [("20", "Sure"), ("020", "Sure")]
    orders += [("020", 4), ("20", 3), ("0020", 9), ("20", 3)]
write("people.tsv", "".join(f"{key}\t{name}\n" for key, name in people))
write("orders.tsv", "".join(f"{key}\t{amount}\n" for key, amount in orders))
