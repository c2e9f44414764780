"""Folders that are empty at several depths, files to keep, links."""

import os
import random
import sys

chance = random.Random(f"{sys.argv[1]} prune_empty")
number = int(sys.argv[2])


def write(path, body, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(body)
    os.chmod(path, mode)


NAMES = ["a", "b c", "-n", "it's", "x.y", "*", "Z", "10", "9", "dash-", "$HOME", "é", "back\\slash"]
os.makedirs("./sure/deep/er")
for place in range(9):
    path = "."
    for _ in range(chance.randrange(1, 4)):
        path += f"/{chance.choice(NAMES)}{chance.choice('12')}"
    os.makedirs(path, exist_ok=True)
    if chance.random() < 0.6:
        write(f"{path}/file {place}", chance.choice(["", "", "x", "\n"]))
    if chance.random() < 0.2:
        write(f"{path}/{chance.choice(['.keep', 'x.keep', '.keep2'])}", "")
write("./zero", "")
write("./kept/in/.keep", "")
os.makedirs("./named/.keep")
write("./blank", "\n")
os.makedirs("./linked/in")
os.symlink("../../zero", "./linked/in/to")
os.symlink("sure", "./to folder")
