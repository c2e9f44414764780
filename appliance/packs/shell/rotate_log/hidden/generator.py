"""A log with some of its older copies."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} rotate_log")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


write("app.log", f"now {chance.randrange(99)}\n")
for place in (1, 2, 3):
    if number == 0 or chance.random() < 0.5:
        write(f"app.log.{place}", f"{place} {chance.randrange(99)}\n")
for name in ("app.log.4", "app.log.10", "app.log.gz", "xapp.log", "app.log.1.gz"):
    if chance.random() < 0.6:
        write(name, "stays\n")
