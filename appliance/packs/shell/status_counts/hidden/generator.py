"""Logs with statuses that are equally frequent."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} status_counts")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


statuses = chance.sample([200, 201, 204, 301, 302, 400, 404, 500, 503, 99, 1000], chance.randrange(3, 9))
rows = []
for place, status in enumerate(statuses):
    for _ in range(chance.choice([1, 2, 2, 11])):
        rows.append(f"10.0.0.{chance.randrange(3)} {chance.choice(['GET', 'POST'])} /{chance.choice(['200', 'a', 'b'])} {status} {chance.choice([200, 404, 0])}")
chance.shuffle(rows)
write("access.log", "".join(f"{row}\n" for row in rows) if number != 3 else "")
if number % 2:
    write("counts", "1 777\n")
