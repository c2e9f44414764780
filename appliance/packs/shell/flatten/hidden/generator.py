"""Trees with names that hold underscores."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} flatten")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
for place in range(8):
    path = "."
    for _ in range(chance.randrange(1, 4)):
        path += f"/{chance.choice(NAMES)}{chance.choice('12')}"
    os.makedirs(path, exist_ok=True)
    if chance.random() < 0.8:
        write(f"{path}/file {place}_{chance.choice(['a', 'b__c', '-'])}", f"{place}\n")
write("./top __ file", "top\n")
write("./sure/deep/-er/file", "sure\n")
