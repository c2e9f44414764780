"""Files around the edge of the size, many of them equal."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} large_files")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


def arguments(*words):
    with open("../arguments", "wb") as file:
        file.write(b"".join(word.encode() + b"\0" for word in words))


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
least = chance.choice([0, 9, 100])
for place, name in enumerate(chance.sample(NAMES, 9)):
    folder = chance.choice([".", "./sub", "./sub/-d e", "./Z"])
    write(f"{folder}/{name}{place}", "x" * max(0, least + chance.choice([-1, 0, 1, 1, 2, 100, 1000, 20])))
for name in ("./sure", "./Sure", "./sub/sure", "./a b/sure"):
    write(name, "x" * (least + 1))
write("./edge", "x" * least)
write("./big", "x" * 3000)
os.symlink("big", "./link")
arguments(str(least))
